import { constants, DatabaseSync, type SQLInputValue } from "node:sqlite";

/**
 * The process of one SQLite database: statements are synchronous, may take for ever, and SQLite's interrupt is not within reach of
 * JavaScript, so that only a process of its own can be given up. Plugins write the SQL, so what reaches beyond this database is
 * refused: other files, pragmas, extensions.
 */

export interface SqliteRequest {
  id: number;
  sql: string;
  parameters: unknown[];
  readOnly: boolean;
}
export type SqliteAnswer =
  { id: number; rows: Record<string, unknown>[]; changes: number } | { id: number; error: string };

const REFUSED = new Set<number>([constants.SQLITE_ATTACH, constants.SQLITE_DETACH, constants.SQLITE_PRAGMA]);

const path = process.argv[2] ?? ":memory:";

function open(readOnly: boolean): DatabaseSync {
  const database = new DatabaseSync(path, { readOnly, timeout: 5000 });
  database.exec(readOnly ? "PRAGMA query_only = 1" : "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  database.setAuthorizer((action) => (REFUSED.has(action) ? constants.SQLITE_DENY : constants.SQLITE_OK));
  return database;
}

const writer = open(false);
// A database in memory belongs to one connection: its reader is the writer, told apart by the statement's columns alone.
const reader = path === ":memory:" ? undefined : open(true);

function bind(value: unknown): SQLInputValue {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "object" && value !== null) return JSON.stringify(value);
  return value as SQLInputValue;
}

const plain = (row: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(row).map(([key, value]) => [
      key,
      value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value,
    ]),
  );

function run({ id, sql, parameters, readOnly }: SqliteRequest): SqliteAnswer {
  if (readOnly && reader === undefined) writer.exec("SAVEPOINT reading");
  try {
    const statement = (readOnly ? (reader ?? writer) : writer).prepare(sql);
    const values = parameters.map(bind);
    if (statement.columns().length > 0) return { id, rows: statement.all(...values).map(plain), changes: 0 };
    return { id, rows: [], changes: Number(statement.run(...values).changes) };
  } catch (error) {
    return { id, error: (error as Error).message };
  } finally {
    if (readOnly && reader === undefined) writer.exec("ROLLBACK TO reading; RELEASE reading");
  }
}

process.on("message", (request: SqliteRequest) => process.send?.(run(request)));
process.on("disconnect", () => {
  reader?.close();
  writer.close();
  process.exit(0);
});
