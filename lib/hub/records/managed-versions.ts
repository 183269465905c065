import type { Deprecation } from "../../contract/facts/version.ts";
import type { ManagedVersion } from "../../contract/surfaces/keys.ts";
import { conflict, unprocessable } from "../base/errors.ts";
import type { Principal } from "../base/principal.ts";
import type { Deletion } from "./deleted-versions.ts";
import { deltaSizes } from "./deltas.ts";
import { hooksOf } from "./hooks.ts";
import { changeTarget } from "./latest/change-target.ts";
import { findMarks, markVersion, open } from "./latest/states.ts";
import { inTransaction, type PageRange, type Queries, type Transacted } from "./port.ts";
import type { Project } from "./projects.ts";
import type { Marks, VersionsTable } from "./version-tables.ts";
import { factsOf, forgetReplacements, newestVersions, removeVersion } from "./versions.ts";

/** Version, with the id used for paging. */
export interface ListedVersion {
  id: string;
  record: ManagedVersion;
}

/** Lists the versions of a project, plugin or service alike that a key sees, newest first. */
export async function listManagedVersions(
  db: Queries,
  project: Project,
  viewer: Principal,
  page: PageRange,
): Promise<ListedVersion[]> {
  const rows = await newestVersions(db, project.id, page, viewer)
    .leftJoin("api_keys as k", "k.id", "v.published_by")
    .leftJoin("api_keys as a", "a.id", "v.approved_by")
    .select(["k.name as publisher", "a.name as approver"])
    .execute();
  const ids = rows.map(({ id }) => id);
  const deltas = project.kind === "project" ? await deltaSizes(db, ids) : undefined;
  const added = await factsOfFeatures(db, ids);
  return rows.map((row) => {
    const { state, ...facts } = factsOf(row);
    const record = {
      ...facts,
      signer_public_key: row.signer_public_key,
      is_latest: row.version === project.latest_version,
      ...(row.needs_agent !== null && { needs_agent: row.needs_agent }),
      ...(state !== undefined && { state, state_reason: row.state_reason }),
      published_by: row.publisher,
      approved_by: row.approver,
      ...(deltas !== undefined && { deltas: deltas.get(row.id) ?? [] }),
      ...added.get(row.id),
    };
    return { id: row.id, record };
  });
}

/** Collects the facts that features keep of versions, by version id. */
async function factsOfFeatures(db: Queries, ids: readonly string[]): Promise<Map<string, Partial<ManagedVersion>>> {
  const gathered = new Map<string, Partial<ManagedVersion>>();
  for (const hooks of hooksOf(db))
    for (const [id, facts] of (await hooks.listedOf?.(db, ids)) ?? [])
      gathered.set(id, { ...gathered.get(id), ...facts });
  return gathered;
}

/** Changes marks of a version. @returns whether they differ from those before; undefined when there is no version */
async function remark(
  transaction: Transacted,
  before: VersionsTable | undefined,
  marks: Partial<Marks>,
): Promise<boolean | undefined> {
  if (before === undefined) return undefined;
  const isSame = Object.entries(marks).every(([name, mark]) => before[name as keyof Marks] === mark);
  return !isSame && markVersion(transaction, { project_id: before.project_id, version: before.version }, marks);
}

/**
 * Yanks or restores a version.
 *
 * @param now milliseconds since 1970
 * @returns whether that has changed it; undefined when there is no such version
 */
export function yankVersion(
  db: Queries,
  { id }: Pick<Project, "id">,
  { version, yanked, reason }: { version: string; yanked: boolean; reason: string | null },
  now: number,
): Promise<boolean | undefined> {
  return inTransaction(db, (transaction) =>
    changeTarget(transaction, id, now, async (_target, touch, tell) => {
      const before = await findMarks(transaction, id, version);
      const hasChanged = await remark(transaction, before, { is_yanked: yanked ? 1 : 0, yanked_reason: reason });
      if (hasChanged !== true) return hasChanged;
      touch(version);
      if (yanked && before?.state !== "staged") await tell({ what: "yank", version });
      return true;
    }),
  );
}

/**
 * Deprecates a version, or takes that back. Answers to `latest` do not change.
 *
 * @param advice null takes it back
 * @param now milliseconds since 1970
 * @returns whether that has changed it; undefined when there is no such version
 * @throws HubError 422 when the replacement is not another published version
 */
export function deprecateVersion(
  db: Queries,
  { id }: Pick<Project, "id">,
  { version, advice }: { version: string; advice: Deprecation | null },
  now: number,
): Promise<boolean | undefined> {
  return inTransaction(db, (transaction) =>
    changeTarget(transaction, id, now, async () => {
      const { message: deprecated_message = null, replaced_by = null } = advice ?? {};
      const other = replaced_by === version ? undefined : await findMarks(transaction, id, replaced_by ?? "");
      const isAnother = other !== undefined && other.state !== "staged";
      if (replaced_by !== null && !isAnother)
        throw unprocessable(`replaced_by: ${replaced_by} is not another published version.`);
      const before = await findMarks(transaction, id, version);
      return remark(transaction, before, { deprecated_message, replaced_by });
    }),
  );
}

/**
 * Deletes a version with everything that belongs to it.
 *
 * @returns the ids of blobs that are no longer needed; undefined when there is no such version
 */
export function deleteVersion(
  db: Queries,
  { id }: Pick<Project, "id">,
  deletion: Deletion,
): Promise<string[] | undefined> {
  return inTransaction(db, (transaction) =>
    changeTarget(transaction, id, Date.parse(deletion.now), async (_target, touch, tell) => {
      const blobs = await removeVersion(transaction, id, deletion);
      if (blobs !== undefined) {
        await tell({ what: "delete", version: deletion.version });
        touch(deletion.version);
      }
      await forgetReplacements(transaction, id);
      return blobs;
    }),
  );
}

/**
 * Deletes versions, none of which is the latest. Their labels are never used again.
 *
 * @returns the ids of blobs that are no longer needed
 */
export function removeVersions(
  transaction: Transacted,
  { id }: Pick<Project, "id">,
  versions: readonly string[],
  why: Omit<Deletion, "version">,
): Promise<string[]> {
  return changeTarget(transaction, id, Date.parse(why.now), async (_target, touch, tell) => {
    const blobs: string[] = [];
    for (const version of versions) {
      const removed = await removeVersion(transaction, id, { ...why, version });
      if (removed === undefined) continue;
      blobs.push(...removed);
      await tell({ what: "delete", version });
      touch(version);
    }
    await forgetReplacements(transaction, id);
    return blobs;
  });
}

/**
 * Opens a held version to every host.
 *
 * @param now milliseconds since 1970
 * @returns false when it is already open; undefined when there is no such version
 * @throws HubError 409 while a feature rolls it out, and for a staged one
 */
export function releaseVersion(
  db: Queries,
  { id }: Pick<Project, "id">,
  version: string,
  now: number,
): Promise<boolean | undefined> {
  return inTransaction(db, (transaction) =>
    changeTarget(transaction, id, now, async (target, touch, tell) => {
      const marks = await findMarks(transaction, id, version);
      if (marks === undefined) return undefined;
      if (marks.state === "staged")
        throw conflict(`${version} is staged: it is published when somebody approves it (\`sealift stage approve\`).`);
      await tell({ what: "release", version });
      if (marks.state === null) return false;
      touch(version);
      await open(transaction, target, version);
      return true;
    }),
  );
}
