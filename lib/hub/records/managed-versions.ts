import type { ManagedVersion } from "../../contract/surfaces/keys.ts";
import type { Deprecation } from "../../contract/surfaces/version-facts.ts";
import { conflict, unprocessable } from "../ground/errors.ts";
import type { Deletion } from "./deleted-versions.ts";
import { deltaSizes } from "./deltas.ts";
import { abortByHub, changeTarget, haltByHub } from "./latest/change-target.ts";
import { findMarks, markVersion, open } from "./latest/states.ts";
import { inTransaction, type PageRange, type Queries, type Transacted } from "./port.ts";
import type { Project } from "./projects.ts";
import { findLiveRollout } from "./rollouts.ts";
import { factsOf, forgetReplacements, newestVersions, removeVersion } from "./versions.ts";

/** A version with the id that pages go by. */
export interface ListedVersion {
  id: string;
  record: ManagedVersion;
}

/** Lists the versions of a project, plugin or service alike, newest first. */
export async function listManagedVersions(db: Queries, project: Project, page: PageRange): Promise<ListedVersion[]> {
  const rows = await newestVersions(db, project.id, page)
    .leftJoin("api_keys as k", "k.id", "v.published_by")
    .select("k.name as publisher")
    .execute();
  const ids = rows.map(({ id }) => id);
  const deltas = project.kind === "project" ? await deltaSizes(db, ids) : undefined;
  return rows.map((row) => {
    const { state, ...facts } = factsOf(row);
    const record = {
      ...facts,
      signer_public_key: row.signer_public_key,
      is_latest: row.version === project.latest_version,
      ...(state !== undefined && { state, state_reason: row.state_reason }),
      published_by: row.publisher,
      ...(deltas !== undefined && { deltas: deltas.get(row.id) ?? [] }),
    };
    return { id: row.id, record };
  });
}

/**
 * Yanks a version or takes that back. A yank halts the live rollout of the version.
 *
 * @param now milliseconds since 1970 @returns false when there is no such version
 */
export function yankVersion(
  db: Queries,
  { id }: Pick<Project, "id">,
  { version, yanked, reason }: { version: string; yanked: boolean; reason: string | null },
  now: number,
): Promise<boolean> {
  return inTransaction(db, (transaction) =>
    changeTarget(transaction, id, now, async (target, touch) => {
      const marks = { is_yanked: yanked ? 1 : 0, yanked_reason: reason };
      if (!(await markVersion(transaction, { project_id: id, version }, marks))) return false;
      touch(version);
      const live = yanked ? await findLiveRollout(transaction, id) : undefined;
      if (live?.version === version && live.state !== "halted")
        await haltByHub(transaction, target, live, `${version} was yanked.`, now);
      return true;
    }),
  );
}

/**
 * Advises against a version, or takes that back. It stays what it is to `latest`.
 *
 * @param advice null takes it back
 * @param now milliseconds since 1970
 * @returns false when there is no such version
 * @throws HubError 422 when the version to take in its place is not another published one
 */
export function deprecateVersion(
  db: Queries,
  { id }: Pick<Project, "id">,
  { version, advice }: { version: string; advice: Deprecation | null },
  now: number,
): Promise<boolean> {
  return inTransaction(db, (transaction) =>
    changeTarget(transaction, id, now, async () => {
      const { message: deprecated_message = null, replaced_by = null } = advice ?? {};
      const isAnother = replaced_by !== version && (await findMarks(transaction, id, replaced_by ?? "")) !== undefined;
      if (replaced_by !== null && !isAnother)
        throw unprocessable(`replaced_by: ${replaced_by} is not another published version.`);
      return markVersion(transaction, { project_id: id, version }, { deprecated_message, replaced_by });
    }),
  );
}

/**
 * Deletes a version with everything that belongs to it; its live rollout ends.
 *
 * @returns the ids of the blobs that nobody needs now; undefined when there is no such version
 */
export function deleteVersion(
  db: Queries,
  { id }: Pick<Project, "id">,
  deletion: Deletion,
): Promise<string[] | undefined> {
  return inTransaction(db, (transaction) =>
    changeTarget(transaction, id, Date.parse(deletion.now), async (target, touch) => {
      const blobs = await endVersion(transaction, target, deletion);
      if (blobs !== undefined) touch(deletion.version);
      await forgetReplacements(transaction, id);
      return blobs;
    }),
  );
}

/**
 * Deletes versions of which none is the latest. Their labels are never used again.
 *
 * @returns the ids of the blobs that nobody needs now
 */
export function removeVersions(
  transaction: Transacted,
  { id }: Pick<Project, "id">,
  versions: readonly string[],
  why: Omit<Deletion, "version">,
): Promise<string[]> {
  return changeTarget(transaction, id, Date.parse(why.now), async (target, touch) => {
    const blobs: string[] = [];
    for (const version of versions) {
      blobs.push(...((await endVersion(transaction, target, { ...why, version })) ?? []));
      touch(version);
    }
    await forgetReplacements(transaction, id);
    return blobs;
  });
}

async function endVersion(transaction: Transacted, target: Project, deletion: Deletion): Promise<string[] | undefined> {
  const blobs = await removeVersion(transaction, target.id, deletion);
  if (blobs === undefined) return undefined;
  const { version, now } = deletion;
  const live = await findLiveRollout(transaction, target.id);
  if (live?.version === version)
    await abortByHub(transaction, target, live, `${version} was deleted.`, Date.parse(now));
  return blobs;
}

/**
 * Opens a held version to every host.
 *
 * @param now milliseconds since 1970
 * @returns false when every host may have it already; undefined when there is no such version
 * @throws HubError 409 while the rollout of the version is live
 */
export function releaseVersion(
  db: Queries,
  { id }: Pick<Project, "id">,
  version: string,
  now: number,
): Promise<boolean | undefined> {
  return inTransaction(db, (transaction) =>
    changeTarget(transaction, id, now, async (target, touch) => {
      const marks = await findMarks(transaction, id, version);
      if (marks === undefined) return undefined;
      const live = await findLiveRollout(transaction, id);
      if (live?.version === version)
        throw conflict(
          `${version} is being rolled out by ${live.id}, which is ${live.state}: abort that first, or let it complete.`,
        );
      if (marks.state === null) return false;
      touch(version);
      await open(transaction, target, version);
      return true;
    }),
  );
}
