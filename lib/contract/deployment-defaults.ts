/**
 * The ways to wait for the disk before a switch counts. `full`: every byte and name of the release is there, so that a
 * power cut leaves the old release or the new one, whole. `switch`: the journal and the links only. `none`: nothing is
 * waited for.
 */
export const DURABILITIES = ["full", "switch", "none"] as const;
export type Durability = (typeof DURABILITIES)[number];

/** Bytes a second, over 30 s of waiting, below which a download is given up. */
export const LEAST_BYTES_PER_SECOND = 1024;

/** The settings of a deployment that have a default. */
export interface DeploymentSettings {
  /** Releases to keep, the running one included. */
  keepReleases: number;
  /** Local reports to keep as files; older ones go to the archive. */
  keepReports: number;
  /** Milliseconds to wait for another deployment of the same target or on the same root. */
  lockWaitMs: number;
  /** Milliseconds that the whole deployment may take. */
  deadlineMs: number;
  /** The part of a switch that must be on the disk before it counts. */
  durability: Durability;
}

/** Defaults, for the agent and for the options that set them. */
export const DEPLOYMENT_DEFAULTS: Readonly<DeploymentSettings> = {
  keepReleases: 3,
  keepReports: 1000,
  lockWaitMs: 600_000,
  deadlineMs: 6 * 3_600_000,
  durability: "full",
};
