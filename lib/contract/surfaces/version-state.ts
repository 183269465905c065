import * as z from "zod";
import { timestamp } from "../identifiers.ts";
import { STATE_CAUSES, VERSION_STATES } from "../version-states.ts";

/** The state of a version that not every host may have (docs/contract/rollouts.md#what-latest-means). */
export const versionState = z.object({
  name: z.enum(VERSION_STATES),
  cause: z.enum(STATE_CAUSES),
  /** Id of the rollout that caused it. */
  rollout: z.string(),
  since: timestamp,
  /** Whether hosts that run the version are to go back. */
  taken_back: z.boolean(),
});
