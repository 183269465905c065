import { sql } from "kysely";
import type { Queries } from "./port.ts";

/** Records of one page. */
const PAGE_RECORDS = 500;

/** A record's bytes, as it describes them. */
export interface BlobRecord {
  id: string;
  size_bytes: number;
  /** Hexadecimal. */
  sha256: string;
}

/** Returns which of the blob ids have a record. */
export async function knownBlobs(db: Queries, ids: string[]): Promise<Set<string>> {
  const rows = await db
    .selectFrom("artifacts")
    .select("id")
    .where("id", "in", ids)
    .union(db.selectFrom("releases").select("id").where("id", "in", ids))
    .union(db.selectFrom("deltas").select("id").where("id", "in", ids))
    .union(db.selectFrom("indexes").select("id").where("id", "in", ids))
    .execute();
  return new Set(rows.map(({ id }) => id));
}

/** Counts records that were made before a moment (milliseconds since 1970), by the time in their ids. */
export async function countBlobRecords(db: Queries, before: number): Promise<number> {
  const time = before.toString(16).padStart(12, "0");
  let count = 0;
  for (const table of ["artifacts", "releases", "deltas", "indexes"] as const) {
    const { rows } = await sql<{
      count: number;
    }>`select count(*) as count from ${sql.table(table)} where substr(id, 5, 12) < ${time}`.execute(db);
    count += Number(rows[0]?.count ?? 0);
  }
  return count;
}

/** Reads the records of all blobs in the order of their ids, page by page. */
export async function* blobRecords(db: Queries): AsyncGenerator<BlobRecord> {
  for (let after = ""; ;) {
    const page = await db
      .selectFrom("artifacts")
      .select(["id", "size_bytes", "artifact_sha256 as sha256"])
      .where("id", ">", after)
      .unionAll(db.selectFrom("releases").select(["id", "size_bytes", "sha256"]).where("id", ">", after))
      .unionAll(
        db.selectFrom("deltas").select(["id", "size_bytes", "artifact_sha256 as sha256"]).where("id", ">", after),
      )
      .unionAll(db.selectFrom("indexes").select(["id", "size_bytes", "sha256"]).where("id", ">", after))
      .orderBy("id")
      .limit(PAGE_RECORDS)
      .execute();
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_RECORDS) return;
    after = last.id;
  }
}

/** Counts the records of blobs, and the bytes that they name. */
export async function totalOfBlobs(db: Queries): Promise<{ count: number; bytes: number }> {
  const total = { count: 0, bytes: 0 };
  for (const table of ["artifacts", "releases", "deltas", "indexes"] as const) {
    const { count, bytes } = await db
      .selectFrom(table)
      .select((eb) => [eb.fn.countAll().as("count"), eb.fn.coalesce(eb.fn.sum("size_bytes"), eb.lit(0)).as("bytes")])
      .executeTakeFirstOrThrow();
    total.count += Number(count);
    total.bytes += Number(bytes);
  }
  return total;
}

/** The thing that a blob is to its version. */
export type BlobPart = "artifact" | "archive" | "delta" | "index";

/** The version that a blob belongs to. */
export interface BlobVersion {
  part: BlobPart;
  /** Id and name of the project, plugin or service. */
  project: string;
  name: string;
  version: string;
}

/** Finds out which version a blob belongs to; undefined when its record is gone. */
export async function versionOfBlob(db: Queries, id: string): Promise<BlobVersion | undefined> {
  const { rows } = await sql<BlobVersion>`
    select t.part, p.id as project, p.name, t.version from (
      select 'artifact' as part, project_id, version from artifacts where id = ${id}
      union all select 'archive', target_id, version from releases where id = ${id}
      union all select 'delta', a.project_id, a.version
        from deltas d join artifacts a on a.id = d.artifact_id where d.id = ${id}
      union all select 'index', a.project_id, a.version
        from indexes i join artifacts a on a.id = i.artifact_id where i.id = ${id}
    ) as t join projects p on p.id = t.project_id`.execute(db);
  return rows[0];
}

/** Names the records whose blob is gone or has another size. */
export async function* lostBlobs(
  db: Queries,
  sizeOf: (id: string) => Promise<number | undefined>,
): AsyncGenerator<string> {
  for await (const { id, size_bytes: size } of blobRecords(db)) if ((await sizeOf(id)) !== size) yield id;
}
