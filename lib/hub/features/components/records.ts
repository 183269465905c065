import { type Kysely, type RawBuilder, sql } from "kysely";
import { inTransaction, isPostgres, type Queries, takeTurn } from "../../records/port.ts";
import type { Schema } from "../../records/schema.ts";
import type { ComponentBatch } from "./sorted-components.ts";
import type { OwnTables } from "./tables.ts";

/** The database with the tables of this feature. */
export const own = (db: Queries): Kysely<Schema & OwnTables> => db.withTables<OwnTables>();

/** Returns a time as it is stored. @param time milliseconds since 1970 */
export const isoTime = (time: number): string => new Date(time).toISOString();

/** Unused components removed per statement. */
const BATCH = 200;
/** Returns SQL for `j`, a table whose column `value` has the items of a JSON list. */
const listed = (db: Queries, json: string): RawBuilder<unknown> =>
  isPostgres(db) ? sql`jsonb_array_elements(${json}::jsonb) as j(value)` : sql`json_each(${json}) as j`;

/** Returns SQL for the same with the items as text. */
const listedTexts = (db: Queries, json: string): RawBuilder<unknown> =>
  isPostgres(db) ? sql`jsonb_array_elements_text(${json}::jsonb) as j(value)` : sql`json_each(${json}) as j`;

/**
 * Writes down that an SBOM has these components. One value holds a whole batch: binding five for each component takes
 * longer than storing them.
 *
 * @param now milliseconds since 1970, noted as a sign of life
 * @returns false when the SBOM is gone
 */
export function storeUses(db: Queries, list: number, { rows, digests }: ComponentBatch, now: number): Promise<boolean> {
  return inTransaction(db, async (transaction) => {
    // Rows are numbered, and unused ones removed, by one transaction at a time.
    await takeTurn(transaction, "components");
    const { numUpdatedRows } = await own(transaction)
      .updateTable("component_lists")
      .set({ begun_at: isoTime(now) })
      .where("id", "=", list)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return false;
    await sql`
      insert into components (id, digest, name, version, purl, package)
      select (select coalesce(max(id), 0) from components) + row_number() over (),
        j.value ->> 0, j.value ->> 1, j.value ->> 2, j.value ->> 3, j.value ->> 4
      from ${listed(transaction, rows)}
      where true on conflict (digest) do nothing`.execute(transaction);
    await sql`
      insert into component_uses (component_id, list_id)
      select c.id, ${list} from ${listedTexts(transaction, digests)} join components c on c.digest = j.value
      where true on conflict do nothing`.execute(transaction);
    return true;
  });
}

/** Marks an SBOM as indexed: from now on it is found. */
export async function completeList(db: Queries, list: number): Promise<void> {
  await own(db).updateTable("component_lists").where("id", "=", list).set({ is_complete: 1 }).execute();
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
    await inTransaction(db, async (transaction) => {
      await takeTurn(transaction, "components");
      await own(transaction)
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
    });
  return page.length < limit ? 0 : Number(page.at(-1)!.id);
}
