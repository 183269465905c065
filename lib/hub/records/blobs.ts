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

/** Names the records whose blob is gone or has another size. */
export async function* lostBlobs(
  db: Queries,
  sizeOf: (id: string) => Promise<number | undefined>,
): AsyncGenerator<string> {
  for await (const { id, size_bytes: size } of blobRecords(db)) if ((await sizeOf(id)) !== size) yield id;
}
