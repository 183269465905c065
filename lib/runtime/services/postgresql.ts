import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import type pg from "pg";
import type { Logger } from "../../support/logging.ts";
import { messageOf, RuntimeFault } from "../guest/fault.ts";
import type { Service } from "./service.ts";
import { databaseRequest, MAX_ANSWER_BYTES, MAX_ROWS, type Statement, tooLarge } from "./statement.ts";

const CONNECT_TIMEOUT_MS = 5000;
const STATEMENT_TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 10;
/** Most open transactions of one plugin; each holds a connection. */
const MAX_TRANSACTIONS = 2;
/** Largest answer on the wire, in bytes: slightly more than its values. */
const MAX_WIRE_BYTES = MAX_ANSWER_BYTES + 1024 * 1024;
/** PostgreSQL's code for a statement that cannot run inside of a transaction. */
const IN_TRANSACTION = "25001";

interface SqlResult {
  rows: Record<string, unknown>[];
  changes: number;
}

interface Transaction {
  client: pg.PoolClient;
  caller: string;
  timer: NodeJS.Timeout;
}

const failed = (error: unknown): RuntimeFault => new RuntimeFault("service_unavailable", messageOf(error));

/** PostgreSQL database; connections are made on demand. No session state reaches the next request. */
export class PostgresDatabase implements Service {
  readonly #pg: typeof pg;
  readonly #pool: pg.Pool;
  readonly #transactions = new Map<string, Transaction>();

  private constructor(postgres: typeof pg, pool: pg.Pool) {
    this.#pg = postgres;
    this.#pool = pool;
  }

  static async open(url: string, logger: Logger): Promise<PostgresDatabase> {
    const { default: postgres } = await import("pg");
    const pool = new postgres.Pool({
      connectionString: url,
      max: MAX_CONNECTIONS,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      allowExitOnIdle: true,
    });
    // A lost idle connection is replaced by the next request; unhandled, the event would end the process.
    pool.on("error", (error) => logger.warn({ err: error }, "an idle database connection was lost"));
    // The pool listens to idle connections only. A busy one that is lost fails its query as well.
    pool.on("connect", (client) => client.on("error", () => undefined));
    return new PostgresDatabase(postgres, pool);
  }

  async request(method: string, parameters: unknown[], caller: string): Promise<unknown> {
    const request = databaseRequest(method, parameters);
    switch (request.method) {
      case "begin":
        return this.#begin(caller, request.timeoutMs);
      case "commit":
      case "rollback":
        return this.#end(request.transaction, caller, request.method === "commit" ? "COMMIT" : "ROLLBACK");
      default: {
        const { transaction } = request;
        const answer = await (transaction === undefined
          ? this.#alone(request)
          : this.#run(this.#transactionOf(transaction, caller).client, request).catch((error: unknown) => {
              throw failed(error);
            }));
        return request.method === "query" ? answer.rows : answer;
      }
    }
  }

  async check(): Promise<void> {
    await this.#pool.query("SELECT 1");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const [id, { client, timer }] of this.#transactions) {
      this.#transactions.delete(id);
      clearTimeout(timer);
      client.release(true);
    }
    await this.#pool.end();
  }

  async #connect(): Promise<pg.PoolClient> {
    return this.#pool.connect().catch((error: unknown) => {
      throw new RuntimeFault("service_unavailable", `The database cannot be reached: ${messageOf(error)}`);
    });
  }

  /** Runs one statement in a session that nothing else has used or will use in the state that it leaves. */
  async #alone(statement: Statement): Promise<SqlResult> {
    const client = await this.#connect();
    const isReading = statement.method === "query";
    let isClean = false;
    try {
      if (isReading) await client.query("BEGIN TRANSACTION READ ONLY");
      const answer = await this.#run(client, statement);
      if (isReading) await client.query("ROLLBACK");
      await client.query("DISCARD ALL");
      isClean = true;
      return answer;
    } catch (error) {
      if (!isReading && (error as { code?: string }).code === IN_TRANSACTION) {
        const message = "The statement left a transaction open, which was rolled back: use transaction() for those.";
        throw new RuntimeFault("service_unavailable", message);
      }
      isClean = await this.#reset(client, error);
      throw failed(error);
    } finally {
      client.release(!isClean);
    }
  }

  /** Resets a session whose statement failed. @returns whether it can be used again */
  async #reset(client: pg.PoolClient, error: unknown): Promise<boolean> {
    if (!(error instanceof Error && "severity" in error)) return false;
    try {
      await client.query("ROLLBACK");
      await client.query("DISCARD ALL");
      return true;
    } catch {
      return false;
    }
  }

  /** Runs one statement, and cuts the connection as soon as its answer is too large. */
  async #run(client: pg.PoolClient, { sql, values }: Statement): Promise<SqlResult> {
    const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
    let bytes = 0;
    const count = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > MAX_WIRE_BYTES) stream.destroy(tooLarge());
    };
    stream.on("data", count);
    try {
      return await new Promise<SqlResult>((resolve, reject) => {
        const rows: Record<string, unknown>[] = [];
        // The extended protocol takes one statement only: no plugin can close the transaction that makes it a reader.
        const query = new this.#pg.Query({ text: sql, values, queryMode: "extended" } as pg.QueryConfig);
        query.on("row", (row: Record<string, unknown>) => {
          if (rows.length < MAX_ROWS) rows.push(row);
          else stream.destroy(tooLarge());
        });
        query.on("end", ({ rowCount }) => resolve({ rows, changes: rowCount ?? 0 }));
        query.on("error", (error) => reject(bytes > MAX_WIRE_BYTES || rows.length >= MAX_ROWS ? tooLarge() : error));
        client.query(query);
      });
    } finally {
      stream.off("data", count);
    }
  }

  async #begin(caller: string, timeoutMs: number): Promise<string> {
    const open = [...this.#transactions.values()].filter((transaction) => transaction.caller === caller);
    if (open.length >= MAX_TRANSACTIONS) {
      throw new RuntimeFault("service_unavailable", `A plugin has at most ${MAX_TRANSACTIONS} transactions open.`);
    }
    const client = await this.#connect();
    try {
      await client.query("BEGIN");
    } catch (error) {
      client.release(true);
      throw failed(error);
    }
    const id = randomUUID();
    const timer = setTimeout(() => {
      this.#transactions.delete(id);
      const { processID } = client as unknown as { processID: number };
      client.release(true);
      // The server notices a closed connection only when it has an answer to send.
      this.#pool.query("SELECT pg_terminate_backend($1)", [processID]).catch(() => undefined);
    }, timeoutMs);
    this.#transactions.set(id, { client, caller, timer });
    return id;
  }

  async #end(id: string, caller: string, how: "COMMIT" | "ROLLBACK"): Promise<null> {
    const { client, timer } = this.#transactionOf(id, caller);
    this.#transactions.delete(id);
    clearTimeout(timer);
    let isClean = false;
    try {
      const { command } = await client.query(how);
      await client.query("DISCARD ALL");
      isClean = true;
      if (command !== how) {
        throw new RuntimeFault("service_unavailable", "A statement of the transaction failed: all was rolled back.");
      }
      return null;
    } catch (error) {
      throw error instanceof RuntimeFault ? error : failed(error);
    } finally {
      client.release(!isClean);
    }
  }

  #transactionOf(id: string, caller: string): Transaction {
    const transaction = this.#transactions.get(id);
    if (transaction?.caller === caller) return transaction;
    throw failed(new Error("The transaction is over: it took too long, or was ended before"));
  }
}
