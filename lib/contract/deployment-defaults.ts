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
} as const;
