import type { DatabaseSync, SQLInputValue } from "node:sqlite";

/** Most prepared statements kept: more than the hub has, in case a query is ever built from a list. */
const STATEMENT_CACHE = 500;

interface PreparedStatement {
  readonly reader: boolean;
  all(parameters: readonly unknown[]): unknown[];
  run(parameters: readonly unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  iterate(parameters: readonly unknown[]): IterableIterator<unknown>;
}

/** `node:sqlite` in the form that kysely's dialect expects (that of better-sqlite3), with prepared statements kept. */
export class PreparedDatabase {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, PreparedStatement>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** False when SQLite has rolled the transaction back by itself, as on a full disk. */
  get isTransaction(): boolean {
    return this.#database.isTransaction;
  }

  close(): void {
    this.#prepared.clear();
    this.#database.close();
  }

  prepare(text: string): PreparedStatement {
    const known = this.#prepared.get(text);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(text);
    const bound = (parameters: readonly unknown[]) => parameters as SQLInputValue[];
    const prepared: PreparedStatement = {
      reader: statement.columns().length > 0,
      all: (parameters) => statement.all(...bound(parameters)),
      run: (parameters) => statement.run(...bound(parameters)),
      iterate: (parameters) => statement.iterate(...bound(parameters)),
    };
    if (this.#prepared.size < STATEMENT_CACHE && !/^(create|alter|drop)/i.test(text))
      this.#prepared.set(text, prepared);
    return prepared;
  }
}
