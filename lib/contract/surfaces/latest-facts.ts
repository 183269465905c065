import * as z from "zod";
import { timestamp, versionLabel } from "../identifiers.ts";

/** Facts beside the version in an answer to "latest", where not every host may have every version. */
export const latestFacts = {
  /** The version that this host gets when the rollout's window opens, at `not_before`. */
  next: z.object({ version: versionLabel, not_before: timestamp }).optional(),
  /** A version that was taken back from this host. */
  withdrawn: versionLabel.optional(),
};
