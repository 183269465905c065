import { sql } from "kysely";
import type { Queries } from "./port.ts";
import type { BlobsTable } from "./version-tables.ts";

/** Records per page. */
const PAGE_RECORDS = 500;

/** Bytes of a record, as it describes them. */
type BlobRecord = Pick<BlobsTable, "id" | "size_bytes">;

/** Returns which of the blob ids have a record. */
export async function knownBlobs(db: Queries, ids: string[]): Promise<Set<string>> {
  const rows = await db.selectFrom("blobs").select("id").where("id", "in", ids).execute();
  return new Set(rows.map(({ id }) => id));
}

/** Counts records that were made before a moment (milliseconds since 1970), by the time in their ids. */
export async function countBlobRecords(db: Queries, before: number): Promise<number> {
  const time = before.toString(16).padStart(12, "0");
  const { rows } = await sql<{
    count: number;
  }>`select count(*) as count from blobs where substr(id, 5, 12) < ${time}`.execute(db);
  return Number(rows[0]?.count ?? 0);
}

/** Reads the records of all blobs in the order of their ids, page by page. */
async function* blobRecords(db: Queries): AsyncGenerator<BlobRecord> {
  for (let after = ""; ;) {
    const page = await db
      .selectFrom("blobs")
      .select(["id", "size_bytes"])
      .where("id", ">", after)
      .orderBy("id")
      .limit(PAGE_RECORDS)
      .execute();
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_RECORDS) return;
    after = last.id;
  }
}

export const findBlob = (db: Queries, id: string): Promise<BlobsTable | undefined> =>
  db.selectFrom("blobs").selectAll().where("id", "=", id).executeTakeFirst();

/** Counts the records of blobs, and the bytes that they name. */
export async function totalOfBlobs(db: Queries): Promise<{ count: number; bytes: number }> {
  const { count, bytes } = await db
    .selectFrom("blobs")
    .select((eb) => [eb.fn.countAll().as("count"), eb.fn.coalesce(eb.fn.sum("size_bytes"), eb.lit(0)).as("bytes")])
    .executeTakeFirstOrThrow();
  return { count: Number(count), bytes: Number(bytes) };
}

/** Version that a blob belongs to. */
export interface BlobVersion extends Pick<BlobsTable, "part"> {
  /** Id and name of the project, plugin or service. */
  project: string;
  name: string;
  version: string;
}

/** Finds the version that a blob belongs to; undefined when its record is gone. */
export const versionOfBlob = (db: Queries, id: string): Promise<BlobVersion | undefined> =>
  db
    .selectFrom("blobs as b")
    .innerJoin("versions as v", "v.id", "b.version_id")
    .innerJoin("projects as p", "p.id", "b.project_id")
    .select(["b.part", "p.id as project", "p.name", "v.version"])
    .where("b.id", "=", id)
    .executeTakeFirst();

/** Yields the records whose blob is gone or has another size. */
export async function* lostBlobs(
  db: Queries,
  sizeOf: (id: string) => Promise<number | undefined>,
): AsyncGenerator<string> {
  for await (const { id, size_bytes: size } of blobRecords(db)) if ((await sizeOf(id)) !== size) yield id;
}
