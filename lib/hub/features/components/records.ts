import { type Kysely, sql } from "kysely";
import type { Component } from "../../../artifact/statements/cyclonedx.ts";
import { packageOf } from "../../../contract/components/query.ts";
import { hashOf } from "../../base/identity.ts";
import { inTransaction, type Queries } from "../../records/port.ts";
import type { Schema } from "../../records/schema.ts";
import type { OwnTables } from "./tables.ts";

/** The database with the tables of this feature. */
export const own = (db: Queries): Kysely<Schema & OwnTables> => db.withTables<OwnTables>();

/** Components written per transaction, few enough not to delay others. */
const BATCH = 200;

/**
 * Lists the SBOMs that are not indexed yet.
 *
 * @param projectId undefined for all
 * @param before ISO 8601: an indexing begun earlier counts as interrupted
 */
export async function unindexed(db: Queries, projectId: string | undefined, before: string): Promise<string[]> {
  const rows = await own(db)
    .selectFrom("blobs as b")
    .leftJoin("component_lists as l", "l.blob_id", "b.id")
    .select("b.id")
    .where("b.part", "=", "statement")
    .where("b.base_version", "=", "sbom")
    .where((eb) =>
      eb.or([eb("l.id", "is", null), eb.and([eb("l.is_complete", "=", 0), eb("l.begun_at", "<", before)])]),
    )
    .$if(projectId !== undefined, (query) => query.where("b.project_id", "=", projectId!))
    .execute();
  return rows.map(({ id }) => id);
}

/** Returns the next number for a table's rows, within the transaction that uses it. */
async function nextId(db: Queries, table: "components" | "component_lists"): Promise<number> {
  const { last } = await own(db)
    .selectFrom(table)
    .select((eb) => eb.fn.max("id").as("last"))
    .executeTakeFirstOrThrow();
  return Number(last ?? 0) + 1;
}

/** Writes down which components an SBOM has. Until the last of them the list counts for nothing. @param now ISO 8601 */
export async function storeList(db: Queries, blobId: string, found: readonly Component[], now: string): Promise<void> {
  const list = await inTransaction(db, async (transaction) => {
    await own(transaction).deleteFrom("component_lists").where("blob_id", "=", blobId).execute();
    const id = await nextId(transaction, "component_lists");
    const row = { id, blob_id: blobId, begun_at: now, is_complete: 0 };
    await own(transaction).insertInto("component_lists").values(row).execute();
    return id;
  });
  for (let at = 0; at < found.length; at += BATCH) await storeUses(db, list, found.slice(at, at + BATCH));
  await own(db).updateTable("component_lists").where("id", "=", list).set({ is_complete: 1 }).execute();
}

function storeUses(db: Queries, list: number, found: readonly Component[]): Promise<void> {
  const rows = new Map(
    found.map(({ name, version, purl }) => {
      const digest = hashOf(JSON.stringify([name, version, purl]));
      return [digest, { digest, name, version, purl, package: packageOf(purl) }];
    }),
  );
  return inTransaction(db, async (transaction) => {
    const known = await idsOf(transaction, [...rows.keys()]);
    let id = await nextId(transaction, "components");
    const added = [...rows.values()].filter(({ digest }) => !known.has(digest)).map((row) => ({ ...row, id: id++ }));
    if (added.length > 0) await own(transaction).insertInto("components").values(added).execute();
    const uses = [...known.values(), ...added.map((row) => row.id)];
    await own(transaction)
      .insertInto("component_uses")
      .values(uses.map((component_id) => ({ component_id, list_id: list })))
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  });
}

async function idsOf(db: Queries, digests: readonly string[]): Promise<Map<string, number>> {
  const rows = await own(db).selectFrom("components").select(["digest", "id"]).where("digest", "in", digests).execute();
  return new Map(rows.map(({ digest, id }) => [digest, Number(id)]));
}

/**
 * Refreshes PostgreSQL's statistics of these tables. After a restore or many new SBOMs they are out of date, and
 * queries for a few components would scan all uses.
 */
export const analyse = (db: Queries): Promise<unknown> =>
  sql`analyze components, component_lists, component_uses`.execute(db);

/**
 * Removes components that no version has any more, from one part of the table.
 *
 * @param after number after which the part begins
 * @returns the number after which the next part begins; 0 at the end
 */
export async function forgetUnused(db: Queries, after: number, limit: number): Promise<number> {
  const page = await own(db)
    .selectFrom("components as c")
    .select([
      "c.id",
      (eb) =>
        eb
          .selectFrom("component_uses as u")
          .select("u.list_id")
          .whereRef("u.component_id", "=", "c.id")
          .limit(1)
          .as("used"),
    ])
    .where("c.id", ">", after)
    .orderBy("c.id")
    .limit(limit)
    .execute();
  const unused = page.filter(({ used }) => used === null).map(({ id }) => id);
  for (let at = 0; at < unused.length; at += BATCH)
    await own(db)
      .deleteFrom("components")
      .where("id", "in", unused.slice(at, at + BATCH))
      .where((eb) =>
        eb.not(
          eb.exists(
            eb.selectFrom("component_uses as u").select("u.list_id").whereRef("u.component_id", "=", "components.id"),
          ),
        ),
      )
      .execute();
  return page.length < limit ? 0 : Number(page.at(-1)!.id);
}
