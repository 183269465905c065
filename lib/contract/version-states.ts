import type { Deprecation, VersionMarks } from "./facts/version.ts";
/** States of published versions in words, apart from the schemas, for programs that only show them. */

/**
 * States stored with a version; without one it is open, and every host may have it. A rolling version goes to hosts in
 * the open waves of its rollout, a held one to no new host (docs/contract/rollouts.md). A staged one is visible to its
 * stager and possible approvers (docs/contract/staging.md).
 */
export const VERSION_STATES = ["rolling", "held", "staged"] as const;

/**
 * Causes of a state: the rollout was `started`, or was `halted`, `aborted` or `replaced`; or the version was published
 * `beside` the live rollout of another one; or it was `uploaded` to be approved.
 */
export const STATE_CAUSES = ["started", "halted", "aborted", "replaced", "beside", "uploaded"] as const;
export type StateCause = (typeof STATE_CAUSES)[number];

/** State of a version that is not open. */
export interface VersionState {
  name: (typeof VERSION_STATES)[number];
  cause: StateCause;
  /** Id of the rollout that caused it; left out for a staged version. */
  rollout?: string | undefined;
}

/** Describes a state in a few words: `held by rollout rol_… (halted)`. */
export function versionStateText({ name, cause, rollout }: VersionState): string {
  if (name === "staged") return "staged: waits for approval";
  if (name === "rolling") return `rolling out by ${rollout}`;
  return cause === "beside" ? `held beside rollout ${rollout}` : `held by rollout ${rollout} (${cause})`;
}

/** Word for a mark of a version, and its reason. */
interface Said {
  word: string;
  why: string | null;
}

/** Words for each mark that is shown; null for one included in the words of another. */
const WORDS: { [Mark in keyof Required<VersionMarks>]: ((marks: VersionMarks) => Said | undefined) | null } = {
  is_yanked: ({ is_yanked, yanked_reason }) => (is_yanked ? { word: "yanked", why: yanked_reason } : undefined),
  yanked_reason: null,
  approved_at: null,
  deprecated: ({ deprecated: advice }) => advice && { word: "deprecated", why: deprecationText(advice) },
};

/** Describes the marks of a version in words. */
export const saidOf = (marks: VersionMarks): Said[] => Object.values(WORDS).flatMap((words) => words?.(marks) ?? []);

/** Describes on one line what to do about a deprecated version. */
export const deprecationText = ({ message, replaced_by: other }: Deprecation): string =>
  other === null ? message : `${message} (take ${other})`;
