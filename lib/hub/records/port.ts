import { type Dialect as KyselyDialect, type Kysely, PostgresAdapter, type Transaction } from "kysely";
import type { Schema } from "./schema.ts";
import type { AnyTable } from "./table.ts";

export type Dialect = "sqlite" | "postgres";
export type Value = string | number | null;
export type StatementRow = Record<string, unknown>;

/** A connection for composed queries, or a transaction of one. */
export type Queries = Kysely<Schema>;
export type Transacted = Transaction<Schema>;

/** Runs `work` in a transaction: in that of `db`, if it is one, else in one of its own. */
export function inTransaction<T>(db: Queries, work: (transaction: Transacted) => Promise<T>): Promise<T> {
  return db.isTransaction ? work(db as Transacted) : db.transaction().execute(work);
}

/**
 * Tells whether queries go to PostgreSQL, whose transactions run beside each other and need locks. SQLite's exclude
 * each other from their beginning, and its SQL has no words for locks.
 */
export const isPostgres = (db: Queries): boolean => db.getExecutor().adapter instanceof PostgresAdapter;

/** An answer of a database: SQLite answers at once. */
type Answer<T> = T | Promise<T>;

/** Constant statements for the routes that every agent polls, prepared once. Placeholders are `?` in both databases. */
export interface PreparedStatements {
  first(text: string, parameters: readonly Value[]): Answer<StatementRow | undefined>;
  all(text: string, parameters: readonly Value[]): Answer<StatementRow[]>;
  close(): void | Promise<void>;
}

/** A dialect that has been opened, before its schema is known to be the newest one. */
export interface OpenDialect {
  dialect: KyselyDialect;
  /** Call it after the migrations: SQLite's read-only connection cannot create the file. */
  openStatements(): PreparedStatements;
  waitedMs?: () => number;
}

/** The records port: kysely for everything that is not hot, constant statements for what is. */
export interface Database {
  readonly dialect: Dialect;
  /** The URL of a PostgreSQL, with its password, or the path of an SQLite file. */
  readonly location: string;
  /** All tables, the core's first. */
  readonly tables: readonly AnyTable[];
  readonly kysely: Queries;
  readonly statements: PreparedStatements;
  /** The clock of the database, in milliseconds since 1970, where that is not this machine's. */
  now?(): Promise<number>;
  /** Milliseconds for which the next in turn has waited for a free connection, where there are turns. */
  waitedMs?(): number;
  /** Rejects when the database cannot be read. */
  checkRead(): Promise<void>;
  /** Rejects when the database cannot be written: it is full, or a standby. @param now ISO 8601 */
  checkWrite(now: string): Promise<void>;
  close(): Promise<void>;
}

/** A page of a list, in the list's order: so many rows after a cursor, which is empty for the first page. */
export interface PageRange {
  after: string;
  limit: number;
}

/** The records and the time by which they are kept. */
export interface Records {
  database: Database;
  /** Milliseconds since 1970, by the clock of the database. */
  clock: () => number;
  /** Returns the current time as ISO 8601 with milliseconds, the stored form. */
  now: () => string;
}
