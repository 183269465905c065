import * as z from "zod";
import { timestamp } from "../identifiers.ts";
import { later } from "../later.ts";
import { STATE_CAUSES, VERSION_STATES } from "../version-states.ts";

/** State of a version that is not open (docs/contract/rollouts.md#what-latest-means). */
export const versionState = later(() =>
  z.object({
    name: z.enum(VERSION_STATES),
    cause: z.enum(STATE_CAUSES),
    /** Id of the rollout that caused it; left out for a staged version. */
    rollout: z.string().optional(),
    since: timestamp,
    /** Whether hosts that run the version are to go back. */
    taken_back: z.boolean(),
  }),
);

/** Field of a publication that stages its version (docs/contract/staging.md); it must precede the file. */
export const stageField = { stage: z.enum(["true", "false"]).optional() };
