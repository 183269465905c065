import { randomUUID } from "node:crypto";
import { constants, DatabaseSync, type SQLInputValue } from "node:sqlite";
import { type DatabaseRequest, MAX_ANSWER_BYTES, MAX_ROWS, type Statement, tooLarge } from "./statement.ts";

/**
 * Process of one plugin for one SQLite database. Statements are synchronous and may take for ever, and JavaScript
 * cannot call SQLite's interrupt, so only a separate process can be abandoned. Plugins write the SQL: access beyond
 * this database (other files, pragmas, extensions) is refused, and so is anything that would outlast the statement in
 * the connection (transactions, temporary objects) outside of a transaction of its own.
 */

export interface SqliteRequest {
  id: number;
  request: DatabaseRequest;
}
export type SqliteAnswer =
  | { id: number; rows: Record<string, unknown>[]; changes: number }
  | { id: number; transaction: string }
  | { id: number; error: string };

/** Time that a statement waits for another writing process, in milliseconds. */
const BUSY_TIMEOUT_MS = 8000;
/** Largest value within the database's own work, in bytes. */
const MAX_VALUE_BYTES = 64 * 1024 * 1024;

const BEYOND = [
  constants.SQLITE_ATTACH,
  constants.SQLITE_DETACH,
  constants.SQLITE_PRAGMA,
  constants.SQLITE_TRANSACTION,
];
const LASTING = [
  constants.SQLITE_SAVEPOINT,
  constants.SQLITE_CREATE_TEMP_INDEX,
  constants.SQLITE_CREATE_TEMP_TABLE,
  constants.SQLITE_CREATE_TEMP_TRIGGER,
  constants.SQLITE_CREATE_TEMP_VIEW,
];

const path = process.argv[2] ?? ":memory:";
const isInMemory = path === ":memory:";

/** Connection on which the runtime's own statements may do what the plugin's may not. */
class Connection {
  readonly #database: DatabaseSync;
  #isOwn = true;

  constructor(kind: "reader" | "writer" | "transaction") {
    this.#database = new DatabaseSync(path, { readOnly: kind === "reader", timeout: BUSY_TIMEOUT_MS });
    // Node 26 and newer. Before, only the memory limit of this process limits a single value.
    const { limits } = this.#database as { limits?: { length: number } };
    if (limits) limits.length = MAX_VALUE_BYTES;
    this.own(kind === "reader" ? "PRAGMA query_only = 1" : "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    const refused = new Set<number>(kind === "transaction" && !isInMemory ? BEYOND : [...BEYOND, ...LASTING]);
    this.#database.setAuthorizer((action) =>
      !this.#isOwn && refused.has(action) ? constants.SQLITE_DENY : constants.SQLITE_OK,
    );
  }

  own(sql: string): void {
    this.#isOwn = true;
    this.#database.exec(sql);
  }

  run({ sql, values }: Pick<Statement, "sql" | "values">): { rows: Record<string, unknown>[]; changes: number } {
    this.#isOwn = false;
    const statement = this.#database.prepare(sql);
    const bound = values.map(bind);
    if (statement.columns().length === 0) return { rows: [], changes: Number(statement.run(...bound).changes) };
    const rows: Record<string, unknown>[] = [];
    let bytes = 0;
    for (const row of statement.iterate(...bound)) {
      for (const [name, value] of Object.entries(row)) bytes += name.length + sizeOf(value);
      rows.push(plain(row));
      if (bytes > MAX_ANSWER_BYTES || rows.length > MAX_ROWS) throw tooLarge();
    }
    return { rows, changes: 0 };
  }

  close(): void {
    this.#database.close();
  }
}

function bind(value: unknown): SQLInputValue {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "object" && value !== null) return JSON.stringify(value);
  return value as SQLInputValue;
}

const sizeOf = (value: unknown): number =>
  typeof value === "string" ? value.length : value instanceof Uint8Array ? value.length * 1.4 : 8;

const plain = (row: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(row).map(([key, value]) => [
      key,
      value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value,
    ]),
  );

const writer = new Connection("writer");
// A database in memory belongs to one connection: its reader is the writer, whose changes while reading are undone.
const reader = isInMemory ? writer : new Connection("reader");

/** Transaction that writers wait for: this process has one thread. */
let turn: Promise<void> = Promise.resolve();

async function takeTurn(): Promise<() => void> {
  const before = turn;
  const { promise, resolve } = Promise.withResolvers<void>();
  turn = before.then(() => promise);
  await before;
  return resolve;
}

interface Transaction {
  id: string;
  connection: Connection;
  end(how: "COMMIT" | "ROLLBACK"): void;
}

let open: Transaction | undefined;

async function begin(timeoutMs: number): Promise<string> {
  const done = await takeTurn();
  const id = randomUUID();
  try {
    const connection = isInMemory ? writer : new Connection("transaction");
    connection.own("BEGIN IMMEDIATE");
    const timer = setTimeout(() => open?.end("ROLLBACK"), timeoutMs);
    const end = (how: "COMMIT" | "ROLLBACK"): void => {
      clearTimeout(timer);
      open = undefined;
      try {
        connection.own(how);
      } finally {
        if (!isInMemory) connection.close();
        done();
      }
    };
    open = { id, connection, end };
    return id;
  } catch (error) {
    done();
    throw error;
  }
}

function transactionOf(id: string): Transaction {
  if (open?.id === id) return open;
  throw new Error("The transaction is over: it took too long, or was ended before");
}

function read(statement: Statement): { rows: Record<string, unknown>[]; changes: number } {
  if (!isInMemory) return reader.run(statement);
  writer.own("SAVEPOINT reading");
  try {
    return writer.run(statement);
  } finally {
    writer.own("ROLLBACK TO reading; RELEASE reading");
  }
}

async function answer({ id, request }: SqliteRequest): Promise<SqliteAnswer> {
  if (request.method === "begin") return { id, transaction: await begin(request.timeoutMs) };
  if (request.method === "commit" || request.method === "rollback") {
    transactionOf(request.transaction).end(request.method === "commit" ? "COMMIT" : "ROLLBACK");
    return { id, rows: [], changes: 0 };
  }
  if (request.transaction !== undefined) return { id, ...transactionOf(request.transaction).connection.run(request) };
  if (request.method === "query" && !isInMemory) return { id, ...read(request) };
  const done = await takeTurn();
  try {
    return { id, ...(request.method === "query" ? read(request) : writer.run(request)) };
  } finally {
    done();
  }
}

process.on("message", (asked: SqliteRequest) => {
  answer(asked).then(
    (answered) => process.send?.(answered),
    (error: Error) => process.send?.({ id: asked.id, error: error.message }),
  );
});
process.on("disconnect", () => {
  open?.end("ROLLBACK");
  if (!isInMemory) reader.close();
  writer.close();
  process.exit(0);
});
