import type { Deprecation } from "./surfaces/version-facts.ts";
/** States of published versions in words, apart from the schemas, for programs that only show them. */

/**
 * States that are stored with a version; without one it is open, and every host may have it. A rolling version goes to
 * hosts in the open waves of its rollout, a held one to nobody new (docs/contract/rollouts.md).
 */
export const VERSION_STATES = ["rolling", "held"] as const;

/**
 * Causes of a state: the rollout was `started`, or was `halted`, `aborted` or `replaced`; or the version was published
 * `beside` the live rollout of another one.
 */
export const STATE_CAUSES = ["started", "halted", "aborted", "replaced", "beside"] as const;
export type StateCause = (typeof STATE_CAUSES)[number];

/** The state of a version that is not open. */
export interface VersionState {
  name: (typeof VERSION_STATES)[number];
  cause: StateCause;
  /** Id of the rollout that caused it. */
  rollout: string;
}

/** Describes a state in a few words: `held by rollout rol_… (halted)`. */
export function versionStateText({ name, cause, rollout }: VersionState): string {
  if (name === "rolling") return `rolling out by ${rollout}`;
  return cause === "beside" ? `held beside rollout ${rollout}` : `held by rollout ${rollout} (${cause})`;
}

/** Says what to do about a version that is advised against, on one line. */
export const deprecationText = ({ message, replaced_by: other }: Deprecation): string =>
  other === null ? message : `${message} (take ${other})`;
