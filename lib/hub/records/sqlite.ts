import { closeSync, openSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { type Dialect as KyselyDialect, SqliteDialect } from "kysely";
import { GroupCommitDialect } from "./group-commit.ts";
import type { OpenDialect, PreparedStatements, StatementRow, Value } from "./port.ts";
import { PreparedDatabase } from "./prepared-database.ts";

const BUSY_TIMEOUT_MS = 5000;
/** Busy timeout of the writer, in milliseconds; `group-commit.ts` waits for longer without blocking the event loop. */
const WRITER_TIMEOUT_MS = 20;

/** Opens a reader: in WAL mode it sees committed rows only, and blocks no writer. */
const openReader = (path: string): DatabaseSync => new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });

/** Constant statements on a connection of their own. */
class SqliteStatements implements PreparedStatements {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();

  constructor(path: string) {
    this.#database = openReader(path);
  }

  #prepare(text: string): StatementSync {
    let statement = this.#prepared.get(text);
    if (statement === undefined) this.#prepared.set(text, (statement = this.#database.prepare(text)));
    return statement;
  }

  first(text: string, parameters: readonly Value[]): StatementRow | undefined {
    const statement = this.#prepare(text);
    return parameters.length === 1 ? statement.get(parameters[0]!) : statement.get(...parameters);
  }

  all(text: string, parameters: readonly Value[]): StatementRow[] {
    return this.#prepare(text).all(...parameters);
  }

  close(): void {
    this.#prepared.clear();
    this.#database.close();
  }
}

/**
 * Opens or creates the hub's SQLite file: mode 0600, WAL, full synchronization (acknowledged changes survive a power
 * cut), foreign keys, and five seconds of waiting for other processes.
 */
export function openSqlite(path: string): OpenDialect {
  // SQLite would create it readable by everyone; its WAL inherits the mode.
  closeSync(openSync(path, "a", 0o600));
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: true, timeout: BUSY_TIMEOUT_MS });
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864;
    PRAGMA busy_timeout = ${WRITER_TIMEOUT_MS};`);
  return {
    dialect: new GroupCommitDialect(database, () => openReader(path)),
    openStatements: () => new SqliteStatements(path),
  };
}

/** Opens an SQLite file read-only: its transactions are snapshots, and block no writer. */
export function openSqliteReader(path: string): KyselyDialect {
  return new SqliteDialect({ database: new PreparedDatabase(openReader(path)) });
}
