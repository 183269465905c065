import { createHash } from "node:crypto";
import type { Selectable } from "kysely";
import type { TargetChanges, TargetDetail, TargetSummary, VersionRecord } from "../../contract/surfaces/marketplace.ts";
import { type MarketplaceKind, paths } from "../../contract/surfaces/paths.ts";
import { byPrecedence, latestOf } from "../../contract/versions.ts";
import { type Deletion, recordDeletion, requireNotDeleted } from "./deleted-versions.ts";
import { inTransaction, type PageRange, type Queries, type Transacted } from "./port.ts";
import { lockProject, type Project } from "./projects.ts";
import { requireRoom } from "./quotas.ts";
import { deleteWhere, newestWhere, selectWhere, updateWhere } from "./rows.ts";
import type { VersionsTable } from "./schema.ts";

export type Version = Selectable<VersionsTable>;

export const versionRecord = (row: Version): VersionRecord => ({
  version: row.version,
  created_at: row.created_at,
  size_bytes: row.size_bytes,
  sha256: row.sha256,
  is_yanked: row.is_yanked !== 0,
  yanked_reason: row.yanked_reason,
  repo: row.repo,
});

export const targetSummary = (target: Project): TargetSummary => ({
  id: target.id,
  name: target.name,
  slug: target.slug,
  kind: target.kind as MarketplaceKind,
  description: target.description,
  homepage: target.homepage,
  repository: target.repository,
  visibility: target.visibility,
  owner: target.owner,
  latest_version: target.latest_version ?? "",
  created_at: target.created_at,
});

/** Versions that a detail record lists; the rest is in the pages of `/versions`. */
const DETAIL_VERSIONS = 20;
/** Yanked versions that it lists beside them: a host that runs one may go back to a lower version. */
const DETAIL_YANKED = 100;

/** The detail record as it is stored and served: its text is made once per change, not once per request. */
export function detailOf(target: Project, rows: readonly Version[]): { detail: string; detail_etag: string } {
  const versions = rows.map(versionRecord).sort(byPrecedence);
  const versionsUrl = `${paths.detail(target.kind as MarketplaceKind, target.slug)}/versions`;
  const record: TargetDetail = { ...targetSummary(target), versions, versions_url: versionsUrl };
  const detail = JSON.stringify(record);
  return { detail, detail_etag: createHash("sha256").update(detail).digest("hex") };
}

/** The newest versions, the newest yanked ones, and the latest one; each once. */
async function shownVersions(transaction: Transacted, targetId: string, latest: string | null): Promise<Version[]> {
  const stored = () => selectWhere(transaction, "releases", { target_id: targetId }).selectAll();
  const newest = await stored().orderBy("id", "desc").limit(DETAIL_VERSIONS).execute();
  const yanked = await stored().where("is_yanked", "=", 1).orderBy("id", "desc").limit(DETAIL_YANKED).execute();
  const best = latest === null ? [] : await stored().where("version", "=", latest).execute();
  return [...new Map([...newest, ...yanked, ...best].map((row) => [row.id, row])).values()];
}

/** The latest version of all, for a change that may take the latest one away. */
async function latestOfAll(transaction: Transacted, targetId: string): Promise<string | null> {
  const rows = await selectWhere(transaction, "releases", { target_id: targetId })
    .select(["version", "created_at", "is_yanked"])
    .execute();
  return latestOf(rows.map((row) => ({ ...row, is_yanked: row.is_yanked !== 0 })))?.version ?? null;
}

/**
 * Changes a target, its `latest_version` and its detail record under the lock of its row. The cost does not grow with
 * the number of versions.
 *
 * @param change what else to write; it runs under the lock @returns the latest version afterwards, and what it is for
 */
export async function changeTarget<T>(
  transaction: Transacted,
  targetId: string,
  change: (latest: string | null) => Promise<{ result: T; latest: string | null }>,
): Promise<T> {
  const before = await lockProject(transaction, targetId);
  const { result, latest } = await change(before.latest_version);
  const target = await selectWhere(transaction, "projects", { id: targetId }).selectAll().executeTakeFirstOrThrow();
  const shown = await shownVersions(transaction, targetId, latest);
  await updateWhere(transaction, "projects", { id: targetId })
    .set({ latest_version: latest, ...detailOf({ ...target, latest_version: latest }, shown) })
    .execute();
  return result;
}

/** Changes what an owner says of a target; what `changes` leaves out stays. */
export async function describeTarget(db: Queries, targetId: string, changes: TargetChanges): Promise<void> {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  await inTransaction(db, (transaction) =>
    changeTarget(transaction, targetId, async (latest) => {
      if (given.length > 0) {
        await updateWhere(transaction, "projects", { id: targetId }).set(Object.fromEntries(given)).execute();
      }
      return { result: undefined, latest };
    }),
  );
}

function findVersion(db: Queries, targetId: string, version: string): Promise<Version | undefined> {
  return selectWhere(db, "releases", { target_id: targetId, version }).selectAll().executeTakeFirst();
}

export function findVersionById(db: Queries, id: string): Promise<Version | undefined> {
  return selectWhere(db, "releases", { id }).selectAll().executeTakeFirst();
}

/**
 * Makes a version visible.
 *
 * @param lost id of a version whose bytes are gone: the new one takes its place
 * @returns what is stored of this version: the new record, or an earlier one
 */
export function insertVersion(
  db: Queries,
  added: Version,
  { visibility, lost }: { visibility: Project["visibility"] | undefined; lost: string | undefined },
): Promise<Version> {
  const { target_id: targetId, version } = added;
  return inTransaction(db, (transaction) =>
    changeTarget(transaction, targetId, async (latest) => {
      const existing = await findVersion(transaction, targetId, version);
      if (existing !== undefined && existing.id !== lost) return { result: existing, latest };
      await requireNotDeleted(transaction, targetId, version);
      if (lost !== undefined) await deleteWhere(transaction, "releases", { id: lost }).execute();
      await requireRoom(transaction, targetId, { bytes: added.size_bytes, versions: 1 });
      // A version that is published again is as yanked as it was.
      const stored = {
        ...added,
        is_yanked: existing?.is_yanked ?? 0,
        yanked_reason: existing?.yanked_reason ?? null,
      };
      await transaction.insertInto("releases").values(stored).execute();
      if (visibility !== undefined) {
        await updateWhere(transaction, "projects", { id: targetId }).set({ visibility }).execute();
      }
      if (lost !== undefined) return { result: stored, latest: await latestOfAll(transaction, targetId) };
      const best = latest === null ? undefined : await findVersion(transaction, targetId, latest);
      const candidates = [best, stored].filter((each) => each !== undefined).map(versionRecord);
      return { result: stored, latest: latestOf(candidates)?.version ?? null };
    }),
  );
}

/** Yanks a version or takes that back. @returns undefined when there is no such version */
export function setYanked(
  db: Queries,
  { targetId, version, yanked, reason }: { targetId: string; version: string; yanked: boolean; reason: string | null },
): Promise<Version | undefined> {
  return inTransaction(db, (transaction) =>
    changeTarget(transaction, targetId, async () => {
      const result = await updateWhere(transaction, "releases", { target_id: targetId, version })
        .set({ is_yanked: yanked ? 1 : 0, yanked_reason: reason })
        .returningAll()
        .executeTakeFirst();
      return { result, latest: await latestOfAll(transaction, targetId) };
    }),
  );
}

/** Recomputes the latest version and the detail record of a target. */
export const renewTarget = (transaction: Transacted, targetId: string): Promise<void> =>
  changeTarget(transaction, targetId, async () => ({
    result: undefined,
    latest: await latestOfAll(transaction, targetId),
  }));

/** Deletes a version. @returns the ids of the blobs that nobody needs now; undefined when there is no such version */
export function deleteVersion(db: Queries, deletion: Deletion): Promise<string[] | undefined> {
  const { projectId } = deletion;
  return inTransaction(db, (transaction) =>
    changeTarget(transaction, projectId, async () => {
      const result = await removeVersion(transaction, deletion);
      return { result, latest: await latestOfAll(transaction, projectId) };
    }),
  );
}

/** Deletes a version; its target's latest version and detail record are for the caller to bring up to date. */
export async function removeVersion(transaction: Transacted, deletion: Deletion): Promise<string[] | undefined> {
  const row = await deleteWhere(transaction, "releases", { target_id: deletion.projectId, version: deletion.version })
    .returning(["id", "sha256"])
    .executeTakeFirst();
  if (row === undefined) return undefined;
  await recordDeletion(transaction, deletion, row.sha256);
  return [row.id];
}

/** Newest first; pages by id, which sorts by creation. */
export const listVersions = (db: Queries, targetId: string, range: PageRange): Promise<Version[]> =>
  newestWhere(db, "releases", { target_id: targetId }, range).selectAll().execute();
