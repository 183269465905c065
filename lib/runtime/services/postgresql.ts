import type pg from "pg";
import type { Logger } from "../../support/logging.ts";
import { messageOf, RuntimeFault } from "../guest/fault.ts";
import type { Service } from "./service.ts";
import { statementOf } from "./statement.ts";

const CONNECT_TIMEOUT_MS = 5000;
const STATEMENT_TIMEOUT_MS = 10_000;
const CONNECTIONS = 10;

/** A PostgreSQL database; connections are made when they are needed. */
export class PostgresDatabase implements Service {
  readonly #pool: pg.Pool;

  private constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  static async open(url: string, logger: Logger): Promise<PostgresDatabase> {
    const { default: postgres } = await import("pg");
    const pool = new postgres.Pool({
      connectionString: url,
      max: CONNECTIONS,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      allowExitOnIdle: true,
    });
    // A lost idle connection is replaced by the next request; unheard, the event would end the process.
    pool.on("error", (error) => logger.warn({ err: error }, "an idle database connection was lost"));
    return new PostgresDatabase(pool);
  }

  async request(method: string, parameters: unknown[]): Promise<unknown> {
    const { sql, values, readOnly } = statementOf(method, parameters);
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw new RuntimeFault("service_unavailable", `The database cannot be reached: ${messageOf(error)}`);
    });
    let failed: Error | undefined;
    try {
      // The extended protocol takes one statement only: no plugin closes the transaction that makes it a reader.
      const statement = { text: sql, values, queryMode: "extended" };
      if (readOnly) await client.query("BEGIN TRANSACTION READ ONLY");
      const { rows, rowCount } = await client.query<Record<string, unknown>>(statement as pg.QueryConfig);
      return readOnly ? rows : { rows, changes: rowCount ?? 0 };
    } catch (error) {
      failed = error as Error;
      throw new RuntimeFault("service_unavailable", messageOf(error));
    } finally {
      if (readOnly) await client.query("ROLLBACK").catch((error: Error) => (failed = error));
      // A session that a plugin's SQL left in another state serves nobody else.
      client.release(failed !== undefined && !("severity" in failed));
    }
  }

  async check(): Promise<void> {
    await this.#pool.query("SELECT 1");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.end();
  }
}
