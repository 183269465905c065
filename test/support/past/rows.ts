import { DatabaseSync } from "node:sqlite";
import pg from "pg";

/** Rows of each table by its name. */
export type Rows = Record<string, Record<string, unknown>[]>;

/** Of the migrator. */
const UNTOLD = /^(kysely_migration|kysely_migration_lock|sqlite_.*)$/;

/** Reads every row of a database without the product's own code. @param place file of SQLite, or a URL of PostgreSQL */
export async function rowsOf(place: string): Promise<Rows> {
  const rows: Rows = {};
  if (!place.startsWith("postgres:")) {
    using database = new DatabaseSync(place, { readOnly: true });
    const tables = database.prepare("select name from sqlite_schema where type = 'table'").all() as { name: string }[];
    for (const { name } of tables.filter((table) => !UNTOLD.test(table.name)))
      rows[name] = database.prepare(`select * from ${name}`).all();
    return rows;
  }
  const client = new pg.Client({ connectionString: place });
  await client.connect();
  try {
    const found = await client.query<{ name: string }>(
      "select table_name as name from information_schema.tables where table_schema = 'public'",
    );
    for (const { name } of found.rows.filter((table) => !UNTOLD.test(table.name)))
      rows[name] = (await client.query<Record<string, unknown>>(`select * from ${name}`)).rows;
  } finally {
    await client.end();
  }
  return rows;
}

/** Returns the columns, as `table.column`, in which no row has a value. */
export const emptyColumns = (rows: Rows): string[] =>
  Object.entries(rows).flatMap(([table, found]) =>
    Object.keys(found[0] ?? { "*": null })
      .filter((column) => found.every((row) => row[column] === null))
      .map((column) => `${table}.${column}`),
  );

/** Returns the rows with the columns that another state of the database has, in an order of their own. */
export function inColumnsOf(before: Rows, after: Rows): Record<string, string[]> {
  const shown = Object.entries(before).map(([table, found]): [string, string[]] => {
    const columns = Object.keys(found[0] ?? {}).toSorted();
    const lines = (after[table] ?? []).map((row) => JSON.stringify(columns.map((column) => [column, row[column]])));
    return [table, lines.toSorted()];
  });
  return Object.fromEntries(shown);
}
