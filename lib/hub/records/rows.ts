import {
  type DeleteQueryBuilder,
  type DeleteResult,
  type Kysely,
  type SelectQueryBuilder,
  sql,
  type Transaction,
  type UpdateQueryBuilder,
  type UpdateResult,
} from "kysely";
import type { PageRange, Queries, TransactedIn } from "./port.ts";
import type { Schema } from "./schema.ts";

/** Values that columns must have; null stands for `is null`. */
type ColumnValues<S, T extends keyof S> = Partial<S[T]>;

/** Drops undefined fields, that is, filters that were not given. */
export const given = <T extends object>(facts: T) =>
  Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: Exclude<T[Name], undefined>;
  };

type Select<S, T extends keyof S> = SelectQueryBuilder<S, T, object>;
type Update<S, T extends keyof S> = UpdateQueryBuilder<S, T, T, UpdateResult>;
type Delete<S, T extends keyof S> = DeleteQueryBuilder<S, T, DeleteResult>;

/** A union, so that TypeScript infers the schema of either. */
type Connection<S> = Kysely<S> | Transaction<S> | TransactedIn<unknown, S>;

/** Kysely has no types for a table given at run time: this one stands for any of them. */
type Any = "hosts";
const anyTable = <S>(db: Connection<S>): Queries => db as unknown as Queries;

/** Starts a query for the rows of a table with these values. */
export const selectWhere = <S, T extends keyof S>(
  db: Connection<S>,
  table: T,
  facts: ColumnValues<S, T>,
): Select<S, T> =>
  anyTable(db)
    .selectFrom(table as Any)
    .where((eb) => eb.and(facts as ColumnValues<Schema, Any>)) as unknown as Select<S, T>;

/** Starts an update of the rows of a table with these values. */
export const updateWhere = <S, T extends keyof S>(
  db: Connection<S>,
  table: T,
  facts: ColumnValues<S, T>,
): Update<S, T> =>
  anyTable(db)
    .updateTable(table as Any)
    .where((eb) => eb.and(facts as ColumnValues<Schema, Any>)) as unknown as Update<S, T>;

/** Starts a deletion of the rows of a table with these values. */
export const deleteWhere = <S, T extends keyof S>(
  db: Connection<S>,
  table: T,
  facts: ColumnValues<S, T>,
): Delete<S, T> =>
  anyTable(db)
    .deleteFrom(table as Any)
    .where((eb) => eb.and(facts as ColumnValues<Schema, Any>)) as unknown as Delete<S, T>;

/** Counts the rows of a table by their state, as a gauge has it. */
export async function countByState(
  db: Queries,
  table: string,
): Promise<{ labels: { state: string }; value: number }[]> {
  const { rows } = await sql<{ state: string; count: number | string }>`
    select state, count(*) as count from ${sql.table(table)} group by state`.execute(db);
  return rows.map(({ state, count }) => ({ labels: { state }, value: Number(count) }));
}

/** Starts a query for one page of such rows, newest first: ids sort by creation time. */
export const newestWhere = <S, T extends keyof S>(
  db: Connection<S>,
  table: T,
  facts: ColumnValues<S, T>,
  { after, limit }: PageRange,
): Select<S, T> =>
  (selectWhere(db, table, facts) as unknown as Select<Schema, Any | "audit">)
    .$if(after !== "", (query) => query.where("id", "<", after))
    .orderBy("id", "desc")
    .limit(limit) as unknown as Select<S, T>;

/** Returns a text in lower case as `lower(column)` does on both databases: no letter beyond ASCII changes. */
export const lowered = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** Returns the pattern that finds a text anywhere in a lower-case one: for `LIKE … ESCAPE '!'`. */
export const patternOf = (text: string): string => `%${lowered(text).replace(/[!%_]/g, "!$&")}%`;
