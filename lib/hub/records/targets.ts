import { createHash } from "node:crypto";
import type { Selectable } from "kysely";
import type { ReleaseRecord, TargetChanges, TargetDetail, TargetSummary } from "../../contract/surfaces/marketplace.ts";
import type { TargetKind } from "../../contract/surfaces/paths.ts";
import { byPrecedence, latestOf } from "../../contract/versions.ts";
import type { Queries, Transacted } from "./port.ts";
import type { Project } from "./projects.ts";
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

/** The detail record as it is stored and served: its text is made once per change, not once per request. */
export function detailOf(target: Project, releases: readonly Release[]): { detail: string; detail_etag: string } {
  const versions = releases.map(releaseRecord).sort(byPrecedence);
  const detail = JSON.stringify({ ...targetSummary(target), versions } satisfies TargetDetail);
  return { detail, detail_etag: createHash("sha256").update(detail).digest("hex") };
}

/**
 * Changes a target within a transaction and brings `latest_version` and the detail record up to date. The target's row is locked
 * before its releases are read, so that two changes at once see each other.
 *
 * @param change what else to write; it runs under the lock
 */
async function changeTarget<T>(transaction: Transacted, targetId: string, change: () => Promise<T>): Promise<T> {
  await transaction
    .updateTable("projects")
    .set((eb) => ({ latest_version: eb.ref("latest_version") }))
    .where("id", "=", targetId)
    .execute();
  const result = await change();
  const target = await transaction
    .selectFrom("projects")
    .selectAll()
    .where("id", "=", targetId)
    .executeTakeFirstOrThrow();
  const releases = await transaction.selectFrom("releases").selectAll().where("target_id", "=", targetId).execute();
  const latest = latestOf(releases.map(releaseRecord))?.version ?? null;
  await transaction
    .updateTable("projects")
    .set({ latest_version: latest, ...detailOf({ ...target, latest_version: latest }, releases) })
    .where("id", "=", targetId)
    .execute();
  return result;
}

/** Changes what an owner says of a target; what `changes` leaves out stays. */
export async function describeTarget(db: Queries, targetId: string, changes: TargetChanges): Promise<void> {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  await db.transaction().execute((transaction) =>
    changeTarget(transaction, targetId, async () => {
      if (given.length === 0) return;
      await transaction.updateTable("projects").set(Object.fromEntries(given)).where("id", "=", targetId).execute();
    }),
  );
}

export function findRelease(db: Queries, targetId: string, version: string): Promise<Release | undefined> {
  return db
    .selectFrom("releases")
    .selectAll()
    .where("target_id", "=", targetId)
    .where("version", "=", version)
    .executeTakeFirst();
}

/** Makes a release visible. @returns the release that has this version: the new one, or an earlier one */
export function insertRelease(
  db: Queries,
  release: Release,
  visibility: Project["visibility"] | undefined,
): Promise<Release> {
  return db.transaction().execute((transaction) =>
    changeTarget(transaction, release.target_id, async () => {
      const existing = await findRelease(transaction, release.target_id, release.version);
      if (existing !== undefined) return existing;
      await transaction.insertInto("releases").values(release).execute();
      if (visibility !== undefined) {
        await transaction.updateTable("projects").set({ visibility }).where("id", "=", release.target_id).execute();
      }
      return release;
    }),
  );
}

/** Yanks a release or takes that back. @returns undefined when there is no such release */
export function setYanked(
  db: Queries,
  { targetId, version, yanked, reason }: { targetId: string; version: string; yanked: boolean; reason: string | null },
): Promise<Release | undefined> {
  return db.transaction().execute((transaction) =>
    changeTarget(transaction, targetId, () =>
      transaction
        .updateTable("releases")
        .set({ is_yanked: yanked ? 1 : 0, yanked_reason: reason })
        .where("target_id", "=", targetId)
        .where("version", "=", version)
        .returningAll()
        .executeTakeFirst(),
    ),
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
