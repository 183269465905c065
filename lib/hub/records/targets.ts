import { createHash } from "node:crypto";
import type { Selectable } from "kysely";
import type { ReleaseRecord, TargetChanges, TargetDetail, TargetSummary } from "../../contract/surfaces/marketplace.ts";
import { paths, type TargetKind } from "../../contract/surfaces/paths.ts";
import { byPrecedence, latestOf } from "../../contract/versions.ts";
import type { Queries, Transacted } from "./port.ts";
import { lockProject, type Project } from "./projects.ts";
import type { ReleasesTable } from "./schema.ts";

export type Release = Selectable<ReleasesTable>;

export const releaseRecord = (release: Release): ReleaseRecord => ({
  version: release.version,
  created_at: release.created_at,
  size_bytes: release.size_bytes,
  sha256: release.sha256,
  is_yanked: release.is_yanked !== 0,
  yanked_reason: release.yanked_reason,
  repo: release.repo,
});

export const targetSummary = (target: Project): TargetSummary => ({
  id: target.id,
  name: target.name,
  slug: target.slug,
  kind: target.kind as TargetKind,
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
export function detailOf(target: Project, releases: readonly Release[]): { detail: string; detail_etag: string } {
  const versions = releases.map(releaseRecord).sort(byPrecedence);
  const versionsUrl = `${paths.detail(target.kind as TargetKind, target.slug)}/versions`;
  const record: TargetDetail = { ...targetSummary(target), versions, versions_url: versionsUrl };
  const detail = JSON.stringify(record);
  return { detail, detail_etag: createHash("sha256").update(detail).digest("hex") };
}

/** The newest versions, the newest yanked ones, and the latest one; each once. */
async function shownReleases(transaction: Transacted, targetId: string, latest: string | null): Promise<Release[]> {
  const releases = () => transaction.selectFrom("releases").selectAll().where("target_id", "=", targetId);
  const newest = await releases().orderBy("id", "desc").limit(DETAIL_VERSIONS).execute();
  const yanked = await releases().where("is_yanked", "=", 1).orderBy("id", "desc").limit(DETAIL_YANKED).execute();
  const best = latest === null ? [] : await releases().where("version", "=", latest).execute();
  return [...new Map([...newest, ...yanked, ...best].map((release) => [release.id, release])).values()];
}

/** The latest version of all, for a change that may take the latest one away. */
async function latestOfAll(transaction: Transacted, targetId: string): Promise<string | null> {
  const releases = await transaction
    .selectFrom("releases")
    .select(["version", "created_at", "is_yanked"])
    .where("target_id", "=", targetId)
    .execute();
  return latestOf(releases.map((release) => ({ ...release, is_yanked: release.is_yanked !== 0 })))?.version ?? null;
}

/**
 * Changes a target within a transaction and brings `latest_version` and the detail record up to date. The target's row is locked
 * before its releases are read, so that two changes at once see each other. What it costs does not grow with the number of versions.
 *
 * @param change what else to write; it runs under the lock @returns the latest version afterwards, and what it is for
 */
async function changeTarget<T>(
  transaction: Transacted,
  targetId: string,
  change: (latest: string | null) => Promise<{ result: T; latest: string | null }>,
): Promise<T> {
  const before = await lockProject(transaction, targetId);
  const { result, latest } = await change(before.latest_version);
  const target = await transaction
    .selectFrom("projects")
    .selectAll()
    .where("id", "=", targetId)
    .executeTakeFirstOrThrow();
  const shown = await shownReleases(transaction, targetId, latest);
  await transaction
    .updateTable("projects")
    .set({ latest_version: latest, ...detailOf({ ...target, latest_version: latest }, shown) })
    .where("id", "=", targetId)
    .execute();
  return result;
}

/** Changes what an owner says of a target; what `changes` leaves out stays. */
export async function describeTarget(db: Queries, targetId: string, changes: TargetChanges): Promise<void> {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  await db.transaction().execute((transaction) =>
    changeTarget(transaction, targetId, async (latest) => {
      if (given.length > 0) {
        await transaction.updateTable("projects").set(Object.fromEntries(given)).where("id", "=", targetId).execute();
      }
      return { result: undefined, latest };
    }),
  );
}

function findRelease(db: Queries, targetId: string, version: string): Promise<Release | undefined> {
  return db
    .selectFrom("releases")
    .selectAll()
    .where("target_id", "=", targetId)
    .where("version", "=", version)
    .executeTakeFirst();
}

export function findReleaseById(db: Queries, id: string): Promise<Release | undefined> {
  return db.selectFrom("releases").selectAll().where("id", "=", id).executeTakeFirst();
}

/**
 * Makes a release visible.
 *
 * @param lost id of a release whose bytes are gone: the new one takes its place
 * @returns the release that has this version: the new one, or an earlier one
 */
export function insertRelease(
  db: Queries,
  release: Release,
  { visibility, lost }: { visibility: Project["visibility"] | undefined; lost: string | undefined },
): Promise<Release> {
  const { target_id: targetId, version } = release;
  return db.transaction().execute((transaction) =>
    changeTarget(transaction, targetId, async (latest) => {
      const existing = await findRelease(transaction, targetId, version);
      if (existing !== undefined && existing.id !== lost) return { result: existing, latest };
      if (lost !== undefined) await transaction.deleteFrom("releases").where("id", "=", lost).execute();
      // A version that is published again is as yanked as it was.
      const stored = {
        ...release,
        is_yanked: existing?.is_yanked ?? 0,
        yanked_reason: existing?.yanked_reason ?? null,
      };
      await transaction.insertInto("releases").values(stored).execute();
      if (visibility !== undefined) {
        await transaction.updateTable("projects").set({ visibility }).where("id", "=", targetId).execute();
      }
      if (lost !== undefined) return { result: stored, latest: await latestOfAll(transaction, targetId) };
      const best = latest === null ? undefined : await findRelease(transaction, targetId, latest);
      const candidates = [best, stored].filter((each) => each !== undefined).map(releaseRecord);
      return { result: stored, latest: latestOf(candidates)?.version ?? null };
    }),
  );
}

/** Yanks a release or takes that back. @returns undefined when there is no such release */
export function setYanked(
  db: Queries,
  { targetId, version, yanked, reason }: { targetId: string; version: string; yanked: boolean; reason: string | null },
): Promise<Release | undefined> {
  return db.transaction().execute((transaction) =>
    changeTarget(transaction, targetId, async () => {
      const result = await transaction
        .updateTable("releases")
        .set({ is_yanked: yanked ? 1 : 0, yanked_reason: reason })
        .where("target_id", "=", targetId)
        .where("version", "=", version)
        .returningAll()
        .executeTakeFirst();
      return { result, latest: await latestOfAll(transaction, targetId) };
    }),
  );
}

/** Newest first; pages by id, which sorts by creation. */
export async function listReleases(
  db: Queries,
  targetId: string,
  { before, limit }: { before: string; limit: number },
): Promise<Release[]> {
  return db
    .selectFrom("releases")
    .selectAll()
    .where("target_id", "=", targetId)
    .$if(before !== "", (query) => query.where("id", "<", before))
    .orderBy("id", "desc")
    .limit(limit)
    .execute();
}
