import type { Selectable } from "kysely";
import { admit } from "./hooks.ts";
import type { Queries, Statements, Transacted } from "./port.ts";
import { lockProject } from "./projects.ts";
import { deleteWhere, selectWhere } from "./rows.ts";
import type { DeltasTable, IndexesTable } from "./version-tables.ts";

export type Delta = Selectable<DeltasTable>;
export type StoredIndex = Selectable<IndexesTable>;

/** Deltas that one version may have: each is bytes that a publisher stores. */
export const MAX_DELTAS = 8;

const OF_VERSION = "SELECT * FROM deltas WHERE artifact_id = ? ORDER BY size_bytes, id";

/** The deltas that lead to an artifact's version, smallest first. */
export async function deltasOf(statements: Statements, artifactId: string): Promise<Delta[]> {
  return (await statements.all(OF_VERSION, [artifactId])) as unknown as Delta[];
}

/**
 * Makes a delta visible. The version's row is held meanwhile: two publishers at once see each other's.
 *
 * @param lost id of a delta whose bytes are gone: the new one takes its place
 * @returns the delta that leads from this base to this version: the new one or an earlier one; undefined when the
 *   version has as many as it may have
 */
export async function insertDelta(transaction: Transacted, delta: Delta, lost?: string): Promise<Delta | undefined> {
  await lockProject(transaction, delta.project_id);
  if (lost !== undefined) await deleteWhere(transaction, "deltas", { id: lost }).execute();
  const existing = await selectWhere(transaction, "deltas", { artifact_id: delta.artifact_id }).selectAll().execute();
  const same = existing.find(({ base_version }) => base_version === delta.base_version);
  if (same !== undefined) return same;
  if (existing.length >= MAX_DELTAS) return undefined;
  await admit(transaction, { projectId: delta.project_id, bytes: delta.size_bytes, versions: 0 });
  await transaction.insertInto("deltas").values(delta).execute();
  return delta;
}

export function findDeltaById(db: Queries, id: string): Promise<Delta | undefined> {
  return selectWhere(db, "deltas", { id }).selectAll().executeTakeFirst();
}

export function findIndexById(db: Queries, id: string): Promise<StoredIndex | undefined> {
  return selectWhere(db, "indexes", { id }).selectAll().executeTakeFirst();
}

/**
 * Stores the index of a version.
 *
 * @param lost id of an index whose bytes are gone: the new one takes its place
 * @returns the index that the version has now: the new one or an earlier one
 */
export async function insertIndex(transaction: Transacted, index: StoredIndex, lost?: string): Promise<StoredIndex> {
  if (lost !== undefined) await deleteWhere(transaction, "indexes", { id: lost }).execute();
  await transaction
    .insertInto("indexes")
    .values(index)
    .onConflict((conflict) => conflict.column("artifact_id").doNothing())
    .execute();
  return selectWhere(transaction, "indexes", { artifact_id: index.artifact_id }).selectAll().executeTakeFirstOrThrow();
}

/** Reads the bases and sizes of the deltas that lead to artifacts, by the ids of these. */
export async function deltaSizes(
  db: Queries,
  artifacts: readonly string[],
): Promise<Map<string, { base_version: string; size_bytes: number }[]>> {
  if (artifacts.length === 0) return new Map();
  const rows = await db
    .selectFrom("deltas")
    .select(["artifact_id", "base_version", "size_bytes"])
    .where("artifact_id", "in", artifacts)
    .orderBy("created_at", "desc")
    .execute();
  const sizes = new Map<string, { base_version: string; size_bytes: number }[]>();
  for (const { artifact_id: id, base_version, size_bytes } of rows)
    sizes.set(id, [...(sizes.get(id) ?? []), { base_version, size_bytes: Number(size_bytes) }]);
  return sizes;
}

export async function findIndex(db: Queries, projectId: string, version: string): Promise<StoredIndex | undefined> {
  return db
    .selectFrom("indexes as i")
    .innerJoin("artifacts as a", "a.id", "i.artifact_id")
    .selectAll("i")
    .where("a.project_id", "=", projectId)
    .where("a.version", "=", version)
    .executeTakeFirst();
}

/** A version whose index is stored, with how many hosts run it. */
export interface IndexedVersion {
  version: string;
  content_sha256: string;
  size_bytes: number;
  hosts: number;
}

/**
 * The versions whose index is stored, those first that most hosts run, then the newest.
 *
 * @param limit rows at most
 */
export async function indexedVersions(db: Queries, projectId: string, limit: number): Promise<IndexedVersion[]> {
  const rows = await db
    .selectFrom("indexes as i")
    .innerJoin("artifacts as a", "a.id", "i.artifact_id")
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
      "a.version",
    )
    .select(["a.version", "a.content_sha256", "i.size_bytes", "f.hosts"])
    .where("a.project_id", "=", projectId)
    .orderBy((eb) => eb.fn.coalesce("f.hosts", eb.lit(0)), "desc")
    .orderBy("a.created_at", "desc")
    .limit(limit)
    .execute();
  return rows.map((row) => ({ ...row, size_bytes: Number(row.size_bytes), hosts: Number(row.hosts ?? 0) }));
}
