/**
 * Guarantees about the disk before a switch counts. `full`: every byte and name of the release, so that a power cut
 * leaves the old release or the new one, complete. `switch`: the journal and the links only. `none`: nothing,
 * for folders that can be made anew, as those of previews and tests.
 */
export const DURABILITIES = ["full", "switch", "none"] as const;
/** Those that an operator can ask for. */
export const DURABILITY_CHOICES = ["full", "switch"] as const satisfies readonly Durability[];
export type Durability = (typeof DURABILITIES)[number];

/** Rate below which a download is abandoned, in bytes per second over 30 s of waiting. */
export const LEAST_BYTES_PER_SECOND = 1024;

/** Settings of a deployment that have a default. */
export interface DeploymentSettings {
  /** Releases to keep, including the running one. */
  keepReleases: number;
  /** Local reports to keep as files; older ones move to the archive. */
  keepReports: number;
  /** Milliseconds to wait for another deployment of the same target or on the same root. */
  lockWaitMs: number;
  /** Time limit of the whole deployment, in milliseconds. */
  deadlineMs: number;
  /** Part of a switch that must be on the disk before it counts. */
  durability: Durability;
}

/** Defaults, for the agent and for its options. */
export const DEPLOYMENT_DEFAULTS: Readonly<DeploymentSettings> = {
  keepReleases: 3,
  keepReports: 1000,
  lockWaitMs: 600_000,
  deadlineMs: 6 * 3_600_000,
  durability: "full",
};
