// Imported function by function: the whole package has 47 files.
import lt from "semver/functions/lt.js";
import prerelease from "semver/functions/prerelease.js";
import rcompare from "semver/functions/rcompare.js";
import valid from "semver/functions/valid.js";
import { semverLabel } from "./identifiers.ts";

/** Facts of a published version that its rank depends on. */
export interface RankedVersion {
  version: string;
  /** Time of publication, ISO 8601, UTC. */
  created_at: string;
  is_yanked?: boolean;
}

/**
 * True for a version that can be compared. A number beyond 2^53 - 1 is valid semver but cannot: it counts as a mere
 * label.
 */
const isSemver = (label: string): boolean => semverLabel.safeParse(label).success && valid(label) !== null;

const newestFirst = (a: RankedVersion, b: RankedVersion): number =>
  a.created_at === b.created_at ? (a.version < b.version ? 1 : -1) : a.created_at < b.created_at ? 1 : -1;

const rank = (label: string): number => (!isSemver(label) ? 0 : prerelease(label) ? 1 : 2);

/**
 * Orders versions best first: stable semver, then pre-releases, then other labels, newest first
 * (docs/contract/marketplace.md).
 */
export function byPrecedence(a: RankedVersion, b: RankedVersion): number {
  const ranks = rank(b.version) - rank(a.version);
  if (ranks !== 0) return ranks;
  if (rank(a.version) === 0) return newestFirst(a, b);
  return rcompare(a.version, b.version) || newestFirst(a, b);
}

/** Returns the answer to "latest": the best version that is not yanked, or undefined without one. */
export function latestOf<T extends RankedVersion>(versions: Iterable<T>): T | undefined {
  let best: T | undefined;
  for (const candidate of versions) {
    if (candidate.is_yanked) continue;
    if (best === undefined || byPrecedence(candidate, best) < 0) best = candidate;
  }
  return best;
}

/** True when both are semver and `candidate` is lower; other labels have no order. */
export function isDowngrade(running: string, candidate: string): boolean {
  return isSemver(running) && isSemver(candidate) && lt(candidate, running);
}
