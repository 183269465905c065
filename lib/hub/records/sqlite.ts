import { closeSync, openSync } from "node:fs";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { type Dialect as KyselyDialect, SqliteDialect } from "kysely";
import type { OpenDialect, Row, Statements, Value } from "./port.ts";

/** More distinct statements than the hub has; a bound, in case a query is ever built from a list. */
const STATEMENT_CACHE = 500;

interface PreparedStatement {
  readonly reader: boolean;
  all(parameters: readonly unknown[]): unknown[];
  run(parameters: readonly unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  iterate(parameters: readonly unknown[]): IterableIterator<unknown>;
}

/** `node:sqlite` in the shape that kysely's dialect takes (that of better-sqlite3), with prepared statements kept. */
class KyselyDatabase {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, PreparedStatement>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  close(): void {
    this.#prepared.clear();
    this.#database.close();
  }

  prepare(text: string): PreparedStatement {
    // A transaction that reads first and writes later fails at once when another process wrote in between; taking the
    // write lock at its start waits instead (busy_timeout).
    const query = text === "begin" ? "begin immediate" : text;
    const known = this.#prepared.get(query);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(query);
    const bound = (parameters: readonly unknown[]) => parameters as SQLInputValue[];
    // SQLite has ended the transaction by itself when its disk is full: a rollback would fail, and hide why.
    const isOver = () => query === "rollback" && !this.#database.isTransaction;
    const prepared: PreparedStatement = {
      reader: statement.columns().length > 0,
      all: (parameters) => (isOver() ? [] : statement.all(...bound(parameters))),
      run: (parameters) => (isOver() ? { changes: 0, lastInsertRowid: 0 } : statement.run(...bound(parameters))),
      iterate: (parameters) => statement.iterate(...bound(parameters)),
    };
    if (this.#prepared.size < STATEMENT_CACHE && !/^(create|alter|drop)/i.test(query)) {
      this.#prepared.set(query, prepared);
    }
    return prepared;
  }
}

/**
 * Constant statements on a connection of their own: a reader in WAL mode sees committed rows only, also during a
 * transaction.
 */
class SqliteStatements implements Statements {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();

  constructor(path: string) {
    this.#database = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  }

  #prepare(text: string): StatementSync {
    let statement = this.#prepared.get(text);
    if (statement === undefined) this.#prepared.set(text, (statement = this.#database.prepare(text)));
    return statement;
  }

  first(text: string, parameters: readonly Value[]): Row | undefined {
    const statement = this.#prepare(text);
    return parameters.length === 1 ? statement.get(parameters[0]!) : statement.get(...parameters);
  }

  all(text: string, parameters: readonly Value[]): Row[] {
    return this.#prepare(text).all(...parameters);
  }

  close(): void {
    this.#prepared.clear();
    this.#database.close();
  }
}

/**
 * Opens the hub's SQLite file, creating it with mode 0600: WAL, full synchronisation (what was answered with 201
 * survives a power cut), foreign keys, and five seconds of patience with other processes (`sealift hub rotate-kek`).
 */
export function openSqlite(path: string): OpenDialect {
  // SQLite would create it for everyone to read; its WAL takes the mode over.
  closeSync(openSync(path, "a", 0o600));
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: true, timeout: 5000 });
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864;");
  return {
    dialect: new SqliteDialect({ database: new KyselyDatabase(database) }),
    openStatements: () => new SqliteStatements(path),
  };
}

/**
 * Opens an SQLite file to be read only, on one connection: a transaction of it sees one moment, and keeps nobody from
 * writing.
 */
export function openSqliteReader(path: string): KyselyDialect {
  return new SqliteDialect({ database: new KyselyDatabase(new DatabaseSync(path, { readOnly: true, timeout: 5000 })) });
}
