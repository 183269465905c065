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
 * SQLite that commits the transactions of one turn of the event loop together: a commit waits for the disk, and the
 * whole hub with it. Each is answered when the common transaction is on the disk; those behind the first one are
 * savepoints of it. Reads outside of a transaction see what is committed, on a connection of their own.
 */
export class GroupCommitDialect extends SqliteDialect {
  readonly #driver: GroupCommitDriver;

  /** @param openReader opens the same file to be read only, when it exists */
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

/** Transactions take turns in the driver, which lets the next one begin before the last one is on the disk. */
class ConcurrentAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

/** Also of Kysely's look at the schema, which begins with its parts: a program beside a hub need not wait to write. */
const READ = /^\s*(?:select\b|with\b(?!.*\b(?:insert|update|delete)\b))/is;

/** Primary result code of SQLite. */
const SQLITE_BUSY = 5;
/** Longest wait for another writer of the file, and the pause between two tries. Milliseconds. */
const PATIENCE_MS = 5000;
const PAUSE_MS = 20;

class GroupCommitDriver implements Driver {
  readonly #writer: PreparedDatabase;
  readonly #openReader: () => PreparedDatabase;
  #reader: PreparedDatabase | undefined;
  /** Writers waiting for their turn. */
  readonly #queue: (() => void)[] = [];
  #isTaken = false;
  /** Transactions that are done, and not yet on the disk. */
  #group: PromiseWithResolvers<void>[] = [];
  #isOpen = false;
  #isScheduled = false;
  #isDue = false;

  constructor(writer: PreparedDatabase, openReader: () => PreparedDatabase) {
    this.#writer = writer;
    this.#openReader = openReader;
  }

  /** False when no transaction is open, or SQLite has ended it by itself. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<GroupConnection> {
    return new GroupConnection(this);
  }

  async releaseConnection(): Promise<void> {}

  // Through the connection, so that they are heard as its statements.
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

  /** Runs a statement as the one whose turn it is. */
  write(query: CompiledQuery): QueryResult<unknown> {
    try {
      return run(this.#writer, query);
    } catch (error) {
      // SQLite has rolled back the common transaction: the work of its other members is lost, too.
      if (this.#isOpen && !this.#writer.isTransaction) this.#close(error);
      throw error;
    }
  }

  /** Waits for a turn to write, in the common transaction. @returns whether it is the first one there */
  async begin(): Promise<boolean> {
    await this.#take();
    try {
      const isFirst = !this.#isOpen;
      // One that reads first and writes later would fail at once when another process wrote in between; taking the
      // write lock at the start waits for it.
      if (isFirst) await this.#open();
      this.#isOpen = true;
      return isFirst;
    } catch (error) {
      this.end();
      throw error;
    }
  }

  /** Has patience with another writer, who may be in this very process: the event loop goes on meanwhile. */
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

  /** Ends a turn. What was written stays, and is on the disk when the promise resolves. */
  async keep(): Promise<void> {
    const written = Promise.withResolvers<void>();
    this.#group.push(written);
    this.end();
    await written.promise;
  }

  /** Ends a turn. */
  end(): void {
    if (this.#isDue) this.#commit();
    // Behind everything that has come in this turn of the event loop.
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

  /** Takes back the common transaction, in which nobody but the one whose turn it is has written. */
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

/** A statement by itself, or a transaction. */
class GroupConnection implements DatabaseConnection {
  readonly #driver: GroupCommitDriver;
  #isTransaction = false;
  /** Whether the transaction is a savepoint: others have written before it in the common one. */
  #isMember = false;

  constructor(driver: GroupCommitDriver) {
    this.#driver = driver;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return (await this.#execute(query)) as QueryResult<R>;
  }

  /** All rows at once: they come from the memory of this process. */
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

  /** Writes in a turn that has begun, and ends the turn if that fails. */
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
    // SQLite keeps the earlier state of each page for a savepoint: above 64 KiB in a file.
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

  /** Does nothing for a transaction that is over: the disk has refused its commit. */
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
