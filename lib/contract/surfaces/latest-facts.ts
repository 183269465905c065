import * as z from "zod";
import { timestamp, versionLabel } from "../identifiers.ts";
import { settingsVersion } from "../settings/records.ts";
import { rootVersion } from "../trust/root.ts";

/** Facts beside the version in an answer to "latest": of a version that not every host may have, and of the signers. */
export const latestFacts = {
  /** The version that this host gets when the rollout's window opens, at `not_before`. */
  next: z.object({ version: versionLabel, not_before: timestamp }).optional(),
  /** A version that was taken back from this host. */
  withdrawn: versionLabel.optional(),
  /** Newest version of the trust root that names the signers; omitted for a target that follows none. */
  root_version: rootVersion.optional(),
  /** Number that grows with each upload of settings for a project's hosts; omitted before the first. */
  settings_version: settingsVersion.optional(),
};
