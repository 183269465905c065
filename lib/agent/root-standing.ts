import { asSealiftError } from "../contract/errors.ts";
import type { TargetName } from "../contract/target.ts";
import type { Layout } from "../releases/layout.ts";
import { currentRelease } from "../releases/release.ts";
import { readFollowedRoot } from "../releases/trust-roots.ts";
import { failed, type Finding, ok, warning } from "./finding.ts";
import { WatchMemory } from "./watch/state.ts";

/** Trust root that a target of this host follows, as far as the host itself knows. */
export interface RootStanding {
  id: string;
  version: number;
  digest: string;
  /** Time when the host took this version over, ISO 8601. */
  since: string;
  /** Date on it. It stops nothing. */
  expires: string;
  /** Public keys that may sign versions, hexadecimal. */
  signers: readonly string[];
  /** Newest version that the hub named in its last answer to a watch; null for none. */
  named: number | null;
  /** Running version whose signer the root does not name; null for none. */
  unnamed: string | null;
}

/** Reads the trust root of a target; undefined where it follows none. @throws ArtifactError for a damaged file */
export async function rootStanding(layout: Layout, target: TargetName): Promise<RootStanding | undefined> {
  const root = await readFollowedRoot(layout, target);
  if (root === undefined) return undefined;
  const { id, version, digest, since, expires, signers } = root;
  const { latest } = await new WatchMemory({ layout }, target).read();
  const running = await currentRelease(layout, target);
  const signer = running?.signer ?? null;
  const isNamed = signer === null || signers.includes(signer);
  const unnamed = running === undefined || isNamed ? null : running.version;
  return { id, version, digest, since, expires, signers, named: latest?.rootVersion ?? null, unnamed };
}

/** Days before the date on a root from which on it is worth a warning. */
const WARNED_DAYS = 90;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Checks the trust root that a target follows. @param now milliseconds since 1970 */
export async function* rootFindings(layout: Layout, target: TargetName, now: number): AsyncGenerator<Finding> {
  const check = `trust root ${target}`;
  const root = await rootStanding(layout, target).catch(asSealiftError);
  if (root === undefined) return;
  if (root instanceof Error) {
    yield failed(check, root.message, "Give the root anew: remove the file, and deploy with --root FILE.");
    return;
  }
  const { id, version, since, named, unnamed, expires } = root;
  const newest = named === null || named <= version ? "; no answer has named a newer one" : "";
  yield ok(check, `Follows version ${version} of ${id} since ${since}${newest}`);
  if (named !== null && named > version)
    yield warning(
      check,
      `The hub names version ${named}, which could not be followed`,
      "`sealift watch check` says why.",
    );
  if (named !== null && named < version)
    yield warning(
      check,
      `The hub names version ${named}, which is older than what this host has: it withholds ${version}, or was restored`,
      `Publish ${version} there again: \`sealift trust publish FILE\`.`,
    );
  if (unnamed !== null)
    yield warning(
      check,
      `${unnamed} runs on, though version ${version} no longer names its signer`,
      "Deploy a version of a signer that it names.",
    );
  if (Date.parse(expires) - now < WARNED_DAYS * DAY_MS)
    yield warning(
      check,
      `The date on version ${version} is ${expires.slice(0, 10)}. Nothing stops then`,
      "`sealift trust change FILE` makes a version with a new date, even without another change.",
    );
}
