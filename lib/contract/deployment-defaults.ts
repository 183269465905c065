/**
 * The ways to wait for the disk before a switch counts. `full`: every byte and name of the release is there, so that a
 * power cut leaves the old release or the new one, whole. `switch`: the journal and the links only. `none`: nothing is
 * waited for.
 */
export const DURABILITIES = ["full", "switch", "none"] as const;
export type Durability = (typeof DURABILITIES)[number];

/** Bytes a second, over 30 s of waiting, below which a download is given up. */
export const LEAST_BYTES_PER_SECOND = 1024;

/** The defaults of a deployment, for the agent and for the options that set them. */
export const DEPLOYMENT_DEFAULTS = {
  /** Releases to keep, the running one included. */
  keepReleases: 3,
  /** Local reports to keep as files. */
  keepReports: 1000,
  /** Milliseconds to wait for another deployment. */
  lockWaitMs: 600_000,
  /** Milliseconds that a whole deployment may take. */
  deadlineMs: 6 * 3_600_000,
  durability: "full",
} as const;
