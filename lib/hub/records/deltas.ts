import type { Principal } from "../base/principal.ts";
import { seesStaged } from "../base/rights.ts";
import { admitBytes } from "./hooks.ts";
import type { Queries, Transacted } from "./port.ts";
import type { Project } from "./projects.ts";
import { deleteWhere, selectWhere } from "./rows.ts";
import type { BlobsTable, SealedDek } from "./version-tables.ts";
import { insertBlob, PUBLISHED } from "./versions.ts";

/** Most deltas of one version: each is stored by its publisher. */
export const MAX_DELTAS = 8;

/**
 * Makes a delta visible.
 *
 * @param project locked: concurrent publishers see each other's deltas
 * @param lost id of a delta whose bytes are gone, which the new one replaces
 * @returns the delta from this base to this version, new or earlier; undefined when the version has the most deltas
 *   allowed
 */
export async function insertDelta(
  transaction: Transacted,
  project: Project,
  { delta, dek, lost }: { delta: BlobsTable; dek: SealedDek; lost: string | undefined },
): Promise<BlobsTable | undefined> {
  if (lost !== undefined) await deleteWhere(transaction, "blobs", { id: lost }).execute();
  const { version_id, part } = delta;
  const existing = await selectWhere(transaction, "blobs", { version_id, part }).selectAll().execute();
  const same = existing.find(({ base_version }) => base_version === delta.base_version);
  if (same !== undefined) return same;
  if (existing.length >= MAX_DELTAS) return undefined;
  await admitBytes(transaction, { project, bytes: delta.size_bytes, versions: 0 });
  await insertBlob(transaction, delta, dek);
  return delta;
}

/**
 * Stores the index of a version.
 *
 * @param project locked
 * @param lost id of an index whose bytes are gone, which the new one replaces
 * @returns the index that the version now has, new or earlier
 */
export async function insertIndex(
  transaction: Transacted,
  project: Project,
  { index, lost }: { index: BlobsTable; lost: string | undefined },
): Promise<BlobsTable> {
  if (lost !== undefined) await deleteWhere(transaction, "blobs", { id: lost }).execute();
  const { version_id, part } = index;
  const existing = await selectWhere(transaction, "blobs", { version_id, part }).selectAll().executeTakeFirst();
  if (existing !== undefined) return existing;
  await admitBytes(transaction, { project, bytes: index.size_bytes, versions: 0 });
  await insertBlob(transaction, index, null);
  return index;
}

/** Reads the bases and sizes of the deltas that lead to versions, newest first, by the ids of the versions. */
export async function deltaSizes(
  db: Queries,
  versions: readonly string[],
): Promise<Map<string, { base_version: string; size_bytes: number }[]>> {
  if (versions.length === 0) return new Map();
  const rows = await selectWhere(db, "blobs", { part: "delta" })
    .select(["version_id", "base_version", "size_bytes"])
    .where("version_id", "in", versions)
    .orderBy("id", "desc")
    .execute();
  const sizes = new Map<string, { base_version: string; size_bytes: number }[]>();
  for (const { version_id: id, base_version, size_bytes } of rows)
    sizes.set(id, [...(sizes.get(id) ?? []), { base_version, size_bytes: Number(size_bytes) }]);
  return sizes;
}

/** Finds the index of a version; undefined for none, or for a staged version that the key may not see. */
export async function findIndex(
  db: Queries,
  projectId: string,
  version: string,
  viewer: Principal,
): Promise<BlobsTable | undefined> {
  const found = await db
    .selectFrom("versions as v")
    .innerJoin("blobs as i", "i.version_id", "v.id")
    .selectAll("i")
    .select(["v.state", "v.published_by"])
    .where("v.project_id", "=", projectId)
    .where("v.version", "=", version)
    .where("i.part", "=", "index")
    .executeTakeFirst();
  return found?.state === "staged" && !seesStaged(viewer, found.published_by) ? undefined : found;
}

/** Version with a stored index, and the number of hosts that run it. */
export interface IndexedVersion {
  version: string;
  content_sha256: string;
  size_bytes: number;
  hosts: number;
}

/**
 * Lists the published versions with a stored index: those that most hosts run first, then the newest.
 *
 * @param limit most rows
 */
export async function indexedVersions(db: Queries, projectId: string, limit: number): Promise<IndexedVersion[]> {
  const rows = await db
    .selectFrom("blobs as i")
    .innerJoin("versions as v", "v.id", "i.version_id")
    .leftJoin(
      db
        .selectFrom("hosts as h")
        .innerJoin("reports as r", "r.id", "h.report_id")
        .select(({ fn }) => ["r.version as version", fn.countAll<number | string>().as("hosts")])
        .where("h.holder", "=", "")
        .where("h.target", "=", projectId)
        .where("r.status", "=", "success")
        .groupBy("r.version")
        .as("f"),
      "f.version",
      "v.version",
    )
    .select(["v.version", "v.content_sha256", "i.size_bytes", "f.hosts"])
    .where("i.project_id", "=", projectId)
    .where("i.part", "=", "index")
    .where(PUBLISHED)
    .orderBy((eb) => eb.fn.coalesce("f.hosts", eb.lit(0)), "desc")
    .orderBy("v.created_at", "desc")
    .limit(limit)
    .$narrowType<{ content_sha256: string }>()
    .execute();
  return rows.map((row) => ({ ...row, size_bytes: Number(row.size_bytes), hosts: Number(row.hosts ?? 0) }));
}
