import type { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteDialect,
} from "kysely";
import { PreparedDatabase } from "./prepared-database.ts";

/**
 * SQLite dialect that commits all transactions of one turn of the event loop together, since each commit blocks the hub
 * until the disk is done. Each transaction is answered once the shared one is on the disk; those after the first are
 * savepoints. Reads outside of transactions use a connection of their own, and see what is committed.
 */
export class GroupCommitDialect extends SqliteDialect {
  readonly #driver: GroupCommitDriver;

  /** @param openReader opens the same file read-only, once it exists */
  constructor(database: DatabaseSync, openReader: () => DatabaseSync) {
    const writer = new PreparedDatabase(database);
    super({ database: writer });
    this.#driver = new GroupCommitDriver(writer, () => new PreparedDatabase(openReader()));
  }

  override createDriver(): Driver {
    return this.#driver;
  }

  override createAdapter(): SqliteAdapter {
    return new ConcurrentAdapter();
  }
}

/** Lets the driver serialize transactions, so that the next can begin before the last one is on the disk. */
class ConcurrentAdapter extends SqliteAdapter {
  /** Runs all migrations in one transaction: one that ends in the middle leaves the database as it was. */
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

/** Matches statements that only read, such as Kysely's look at the schema: they need not wait for the writer. */
const READ = /^\s*(?:select\b|with\b(?!.*\b(?:insert|update|delete)\b))/is;

/** Primary result code of SQLite. */
const SQLITE_BUSY = 5;
/** Longest wait for another writer of the file, and the pause between two attempts, in milliseconds. */
const PATIENCE_MS = 5000;
const PAUSE_MS = 20;

class GroupCommitDriver implements Driver {
  readonly #writer: PreparedDatabase;
  readonly #openReader: () => PreparedDatabase;
  #reader: PreparedDatabase | undefined;
  /** Writers waiting for their turn. */
  readonly #queue: (() => void)[] = [];
  #isTaken = false;
  /** Transactions that have finished, but are not on the disk yet. */
  #group: PromiseWithResolvers<void>[] = [];
  #isOpen = false;
  #isScheduled = false;
  #isDue = false;

  constructor(writer: PreparedDatabase, openReader: () => PreparedDatabase) {
    this.#writer = writer;
    this.#openReader = openReader;
  }

  /** False when no transaction is open, or SQLite has rolled it back by itself. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<GroupConnection> {
    return new GroupConnection(this);
  }

  async releaseConnection(): Promise<void> {}

  // Through the connection, so that logs show them as its statements.
  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw("begin"));
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw("commit"));
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw("rollback"));
  }

  async destroy(): Promise<void> {
    await this.#take();
    if (this.#isOpen) this.#commit();
    this.#reader?.close();
    this.#writer.close();
  }

  read(query: CompiledQuery): QueryResult<unknown> {
    return run((this.#reader ??= this.#openReader()), query);
  }

  /** Runs a statement of the current writer. */
  write(query: CompiledQuery): QueryResult<unknown> {
    try {
      return run(this.#writer, query);
    } catch (error) {
      // SQLite has rolled back the shared transaction, and with it the work of its other members.
      if (this.#isOpen && !this.#writer.isTransaction) this.#close(error);
      throw error;
    }
  }

  /** Waits for a turn to write, in the common transaction. @returns whether it is the first one there */
  async begin(): Promise<boolean> {
    await this.#take();
    try {
      const isFirst = !this.#isOpen;
      // Takes the write lock at the start: a transaction that reads first and writes later would fail when another
      // process wrote in between.
      if (isFirst) await this.#open();
      this.#isOpen = true;
      return isFirst;
    } catch (error) {
      this.end();
      throw error;
    }
  }

  /** Opens the shared transaction. Waits for another writer without blocking: it may be in this process. */
  async #open(): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      try {
        run(this.#writer, CompiledQuery.raw("begin immediate"));
        return;
      } catch (error) {
        const { errcode = 0 } = error as { errcode?: number };
        if ((errcode & 0xff) !== SQLITE_BUSY || performance.now() > deadline) throw error;
      }
      await delay(PAUSE_MS);
    }
  }

  /** Ends a turn and keeps what was written, which is on the disk when the promise resolves. */
  async keep(): Promise<void> {
    const written = Promise.withResolvers<void>();
    this.#group.push(written);
    this.end();
    await written.promise;
  }

  /** Ends a turn. */
  end(): void {
    if (this.#isDue) this.#commit();
    // After everything that has arrived in this turn of the event loop.
    else if (this.#isOpen && !this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(() => {
        this.#isScheduled = false;
        if (this.#isTaken) this.#isDue = this.#isOpen;
        else this.#commit();
      });
    }
    const next = this.#queue.shift();
    if (next === undefined) this.#isTaken = false;
    else next();
  }

  /** Rolls back the shared transaction, in which only the current writer has written. */
  rollback(): void {
    run(this.#writer, CompiledQuery.raw("rollback"));
    this.#close();
  }

  async #take(): Promise<void> {
    if (!this.#isTaken) this.#isTaken = true;
    else await new Promise<void>((resolve) => void this.#queue.push(resolve));
  }

  #commit(): void {
    if (!this.#isOpen) return;
    try {
      run(this.#writer, CompiledQuery.raw("commit"));
      this.#close();
    } catch (error) {
      if (this.#writer.isTransaction) run(this.#writer, CompiledQuery.raw("rollback"));
      this.#close(error);
    }
  }

  #close(...failed: [error?: unknown]): void {
    const group = this.#group;
    this.#group = [];
    this.#isOpen = false;
    this.#isDue = false;
    for (const { resolve, reject } of group) {
      if (failed.length > 0) reject(failed[0]);
      else resolve();
    }
  }
}

const MEMBER = {
  begin: CompiledQuery.raw("savepoint member"),
  commit: CompiledQuery.raw("release member"),
  rollback: CompiledQuery.raw("rollback to member"),
};
const NOTHING: QueryResult<unknown> = { rows: [] };

/** Connection for single statements and for transactions. */
class GroupConnection implements DatabaseConnection {
  readonly #driver: GroupCommitDriver;
  #isTransaction = false;
  /** Whether the transaction is a savepoint, because others wrote before it in the shared one. */
  #isMember = false;

  constructor(driver: GroupCommitDriver) {
    this.#driver = driver;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return (await this.#execute(query)) as QueryResult<R>;
  }

  /** Yields all rows at once: they are in the memory of this process. */
  async *streamQuery<R>(query: CompiledQuery): AsyncGenerator<QueryResult<R>> {
    yield await this.executeQuery<R>(query);
  }

  async #execute(query: CompiledQuery): Promise<QueryResult<unknown>> {
    if (query.sql === "begin") return this.#begin();
    if (query.sql === "commit") return this.#commit();
    if (query.sql === "rollback") return this.#rollback();
    if (this.#isTransaction) {
      if (!this.#driver.isOpen) throw new Error("the transaction has ended with an earlier error");
      return this.#driver.write(query);
    }
    if (READ.test(query.sql)) return this.#driver.read(query);
    await this.#driver.begin();
    const result = this.#writeOrEnd(query);
    await this.#driver.keep();
    return result;
  }

  /** Writes within the current turn, and ends the turn on failure. */
  #writeOrEnd(query: CompiledQuery): QueryResult<unknown> {
    try {
      return this.#driver.write(query);
    } catch (error) {
      this.#driver.end();
      throw error;
    }
  }

  async #begin(): Promise<QueryResult<unknown>> {
    this.#isMember = !(await this.#driver.begin());
    // For a savepoint, SQLite keeps the earlier state of each page: beyond 64 KiB in a file.
    if (this.#isMember) this.#writeOrEnd(MEMBER.begin);
    this.#isTransaction = true;
    return NOTHING;
  }

  async #commit(): Promise<QueryResult<unknown>> {
    if (this.#isMember) this.#driver.write(MEMBER.commit);
    this.#isTransaction = false;
    await this.#driver.keep();
    return NOTHING;
  }

  /** Rolls back. Does nothing for a transaction that is over because the disk has refused its commit. */
  async #rollback(): Promise<QueryResult<unknown>> {
    if (!this.#isTransaction) return NOTHING;
    this.#isTransaction = false;
    try {
      if (!this.#driver.isOpen) return NOTHING;
      if (!this.#isMember) this.#driver.rollback();
      else for (const each of [MEMBER.rollback, MEMBER.commit]) this.#driver.write(each);
    } finally {
      this.#driver.end();
    }
    return NOTHING;
  }
}

function run(database: PreparedDatabase, { sql, parameters }: CompiledQuery): QueryResult<unknown> {
  const statement = database.prepare(sql);
  if (statement.reader) return { rows: statement.all(parameters) };
  const { changes, lastInsertRowid } = statement.run(parameters);
  return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
}
