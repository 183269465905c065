import {
  type DeleteQueryBuilder,
  type DeleteResult,
  type SelectQueryBuilder,
  sql,
  type UpdateQueryBuilder,
  type UpdateResult,
} from "kysely";
import type { PageRange, Queries } from "./port.ts";
import type { Schema } from "./schema.ts";

type Table = keyof Schema;
/** Values that columns must have; null stands for `is null`. */
type Facts<T extends Table> = Partial<Schema[T]>;

/** Leaves out what is undefined: a filter that was not asked for. */
export const given = <T extends object>(facts: T) =>
  Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: Exclude<T[Name], undefined>;
  };

type Select<T extends Table> = SelectQueryBuilder<Schema, T, object>;
type Update<T extends Table> = UpdateQueryBuilder<Schema, T, T, UpdateResult>;
type Delete<T extends Table> = DeleteQueryBuilder<Schema, T, DeleteResult>;

/** Kysely composes no types for a table that is a parameter: this one stands for any of them. */
type Any = "hosts";

/** Begins a query for the rows of a table that have these values. */
export const selectWhere = <T extends Table>(db: Queries, table: T, facts: Facts<T>): Select<T> =>
  db.selectFrom(table as Any).where((eb) => eb.and(facts as Facts<Any>)) as unknown as Select<T>;

/** Begins a change of the rows of a table that have these values. */
export const updateWhere = <T extends Table>(db: Queries, table: T, facts: Facts<T>): Update<T> =>
  db.updateTable(table as Any).where((eb) => eb.and(facts as Facts<Any>)) as unknown as Update<T>;

/** Begins the removal of the rows of a table that have these values. */
export const deleteWhere = <T extends Table>(db: Queries, table: T, facts: Facts<T>): Delete<T> =>
  db.deleteFrom(table as Any).where((eb) => eb.and(facts as Facts<Any>));

/** Counts the rows of a table by their state, as a gauge has it. */
export async function countByState(
  db: Queries,
  table: string,
): Promise<{ labels: { state: string }; value: number }[]> {
  const { rows } = await sql<{ state: string; count: number | string }>`
    select state, count(*) as count from ${sql.table(table)} group by state`.execute(db);
  return rows.map(({ state, count }) => ({ labels: { state }, value: Number(count) }));
}

/** Begins a query for one page of such rows, newest first: ids sort by the time of creation. */
export const newestWhere = <T extends Table>(
  db: Queries,
  table: T,
  facts: Facts<T>,
  { after, limit }: PageRange,
): Select<T> =>
  (selectWhere(db, table, facts) as unknown as Select<Any | "audit">)
    .$if(after !== "", (query) => query.where("id", "<", after))
    .orderBy("id", "desc")
    .limit(limit) as unknown as Select<T>;

/** Returns the pattern that finds a text anywhere in a lower-case one: for `LIKE … ESCAPE '!'`. */
export const patternOf = (text: string): string => `%${text.toLowerCase().replace(/[!%_]/g, "!$&")}%`;
