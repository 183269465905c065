import { type Dialect as KyselyDialect, type Kysely, PostgresAdapter, sql, type Transaction } from "kysely";
import type { Schema } from "./schema.ts";
import type { AnyTable } from "./table.ts";

export type Dialect = "sqlite" | "postgres";
export type Value = string | number | null;
export type StatementRow = Record<string, unknown>;

/** Connection for composed queries, or a transaction of one. */
export type Queries = Kysely<Schema>;
export type Transacted = Transaction<Schema>;

/** Names the type parameter of {@link TransactedIn}; no value has it. */
declare const IN: unique symbol;

/**
 * Transaction whose type only its own work can name: rows that it locks (locked.ts) are of no use in another one.
 *
 * @typeParam In stands for this transaction; nothing else is known of it
 */
export type TransactedIn<In, S = Schema> = Transaction<S> & { readonly [IN]?: (transaction: In) => In };

/** Runs `work` in a transaction: in `db` if it is one, otherwise in a new one. */
export function inTransaction<T>(db: Queries, work: <In>(transaction: TransactedIn<In>) => Promise<T>): Promise<T> {
  return db.isTransaction ? work(db as Transacted) : db.transaction().execute(work);
}

/**
 * Tells whether queries go to PostgreSQL, whose transactions run concurrently and need locks. SQLite's exclude each
 * other from the start, and its SQL cannot express locks.
 */
export const isPostgres = (db: Queries): boolean => db.getExecutor().adapter instanceof PostgresAdapter;

/**
 * Lets transactions that name the same subject take turns until they end. For what a statement counts or looks for,
 * which has no row to lock. On SQLite all transactions take turns.
 */
export async function takeTurn(
  transaction: Transacted,
  subject: `owner/${string}` | `name/${string}` | "components" | "component_lists",
): Promise<void> {
  if (isPostgres(transaction))
    await sql`select pg_advisory_xact_lock(hashtextextended(${subject}, 0))`.execute(transaction);
}

/** Answer of a database; SQLite answers synchronously. */
type SyncOrAsync<T> = T | Promise<T>;

/** Constant statements for the routes that every agent polls, prepared once. Placeholders are `?` in both databases. */
export interface PreparedStatements {
  first(text: string, parameters: readonly Value[]): SyncOrAsync<StatementRow | undefined>;
  all(text: string, parameters: readonly Value[]): SyncOrAsync<StatementRow[]>;
  close(): void | Promise<void>;
}

/** Opened dialect, before its schema is known to be the newest. */
export interface OpenDialect {
  dialect: KyselyDialect;
  /**
   * Opens the constant statements. Call it after the migrations: SQLite's read-only connection cannot create the file.
   */
  openStatements(): PreparedStatements;
  waitedMs?: () => number;
}

/** Records port: kysely for queries off the hot path, constant statements on it. */
export interface Database {
  readonly dialect: Dialect;
  /** URL of a PostgreSQL, with its password, or path of an SQLite file. */
  readonly location: string;
  /** All tables, the core's first. */
  readonly tables: readonly AnyTable[];
  readonly kysely: Queries;
  readonly statements: PreparedStatements;
  /** Returns the database's clock in milliseconds since 1970, where that is not this machine's. */
  now?(): Promise<number>;
  /**
   * Returns the milliseconds for which the first request in line has waited for a connection, where connections are
   * pooled.
   */
  waitedMs?(): number;
  /** Rejects when the database cannot be read. */
  checkRead(): Promise<void>;
  /** Rejects when the database cannot be written: it is full, or a standby. @param now ISO 8601 */
  checkWrite(now: string): Promise<void>;
  close(): Promise<void>;
}

/** Page of a list, in its order: a number of rows after a cursor, which is empty for the first page. */
export interface PageRange {
  after: string;
  limit: number;
}

/** Records, and the clock that they are kept by. */
export interface Records {
  database: Database;
  /** Milliseconds since 1970, by the clock of the database. */
  clock: () => number;
  /** Returns the current time as ISO 8601 with milliseconds, the stored form. */
  now: () => string;
}
