import { createHash } from "node:crypto";
import { PostgresDialect } from "kysely";
import type pg from "pg";
import type { OpenDialect, PreparedStatements, StatementRow, Value } from "./port.ts";
import { endSilence, socketOf } from "./silence.ts";

const BIGINT = 20;

/** Parses integers as numbers: all are sizes and counters below 2^53. */
const typesOf = (types: typeof pg.types): pg.CustomTypesConfig => ({
  getTypeParser: ((oid: number, format?: "text" | "binary"): unknown =>
    oid === BIGINT && format !== "binary" ? Number : types.getTypeParser(oid, format)) as never,
});

/** Constant statements, prepared once per connection under a name derived from their text. */
class PostgresStatements implements PreparedStatements {
  readonly #pool: pg.Pool;
  readonly #own: pg.Pool | undefined;
  readonly #prepared = new Map<string, { name: string; text: string }>();

  /**
   * @param shared kysely's pool, which kysely closes @param own pool closed with these statements; they use it where
   *   there is one
   */
  constructor(shared: pg.Pool, own: pg.Pool | undefined) {
    this.#pool = own ?? shared;
    this.#own = own;
  }

  async all(text: string, parameters: readonly Value[]): Promise<StatementRow[]> {
    let prepared = this.#prepared.get(text);
    if (prepared === undefined) {
      let index = 0;
      prepared = {
        name: `sealift_${createHash("sha256").update(text).digest("hex").slice(0, 32)}`,
        text: text.replace(/\?/g, () => `$${++index}`),
      };
      this.#prepared.set(text, prepared);
    }
    const { rows } = await this.#pool.query<StatementRow>({ ...prepared, values: [...parameters] });
    return rows;
  }

  async first(text: string, parameters: readonly Value[]): Promise<StatementRow | undefined> {
    return (await this.all(text, parameters))[0];
  }

  async close(): Promise<void> {
    await this.#own?.end();
  }
}

/** Options of a hub for PostgreSQL. */
export interface PostgresOptions {
  url: string;
  /** Most connections of this hub. */
  poolSize: number;
  /**
   * Time after which the server cancels a statement, in milliseconds; a silent server is given up a second later. 0:
   * never.
   */
  statementTimeoutMs: number;
  /** Time limit for connecting, and for waiting for a free connection, in milliseconds. */
  connectTimeoutMs: number;
  /** Called when a connection was lost, idle or in use; the pool replaces it by itself. */
  onLostConnection: (error: Error) => void;
}

/** Time beyond the statement timeout after which a silent server is given up, in milliseconds. */
const SILENCE_MARGIN_MS = 1000;
/** Longest pause within a transaction, in milliseconds: after that its hub is gone. */
const IDLE_TRANSACTION_MS = 60_000;
/** Error code of a server that accepts no writes: it is a standby, or has become one. */
const READ_ONLY = "25006";

/**
 * Returns a client that closes on an overdue answer, which would be mistaken for the next one, and that reports a
 * server that accepts no writes: after a failover it would otherwise use a standby for ever.
 */
function boundedClient(Client: typeof pg.Client, onReadOnly: (client: pg.Client) => void): typeof pg.Client {
  const giveUp = (client: pg.Client, error: unknown): never => {
    const { message, code } = error as { message?: string; code?: string };
    if (message === "Query read timeout") {
      socketOf(client).destroy();
    }
    if (code === READ_ONLY) onReadOnly(client);
    throw error;
  };
  return class BoundedClient extends Client {
    override query(...parameters: never[]): never {
      const answer = (super.query as (...all: never[]) => unknown)(...parameters);
      return (answer instanceof Promise ? answer.catch((error: unknown) => giveUp(this, error)) : answer) as never;
    }
  };
}

/** Measures waits for a connection of a pool. @returns the milliseconds for which the first in line has waited */
function timeWaits(pool: pg.Pool): () => number {
  const since = new Set<{ at: number }>();
  const connect = pool.connect.bind(pool) as (callback: (...answer: unknown[]) => void) => void;
  // In callback form, which the pool uses internally; its promise form stays for everybody else.
  const timed = (callback?: (...answer: unknown[]) => void): unknown => {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const ticket = { at: performance.now() };
    since.add(ticket);
    connect((error, client, done) => {
      since.delete(ticket);
      if (callback !== undefined) callback(error, client, done);
      else if (error === undefined || error === null) resolve(client);
      else reject(error);
    });
    return callback === undefined ? promise : undefined;
  };
  pool.connect = timed as typeof pool.connect;
  return () => {
    for (const { at } of since) return performance.now() - at;
    return 0;
  };
}

/** One in this many connections is reserved for the constant statements: polls never wait for publishers. */
const PART_OF_POLLS = 3;
/** Fewest connections that are divided; a smaller pool is shared by all. */
const LEAST_TO_SHARE = 4;

/** Opens pools of PostgreSQL connections, for kysely and for the constant statements. */
export async function openPostgres(options: PostgresOptions): Promise<OpenDialect> {
  const { poolSize } = options;
  const ofPolls = poolSize < LEAST_TO_SHARE ? 0 : Math.ceil(poolSize / PART_OF_POLLS);
  const pool = await openPool(options, poolSize - ofPolls);
  const polls = ofPolls === 0 ? undefined : await openPool(options, ofPolls);
  const [waited, waitedByPolls] = [timeWaits(pool), polls && timeWaits(polls)];
  return {
    dialect: new PostgresDialect({ pool }),
    openStatements: () => new PostgresStatements(pool, polls),
    waitedMs: () => Math.max(waited(), waitedByPolls?.() ?? 0),
  };
}

async function openPool(options: PostgresOptions, size: number): Promise<pg.Pool> {
  // Hubs on SQLite never load the driver.
  const { Client, Pool, types } = (await import("pg")).default;
  const readOnly = new WeakSet<object>();
  const pool = new Pool({
    connectionString: options.url,
    max: size,
    connectionTimeoutMillis: options.connectTimeoutMs,
    ...(options.statementTimeoutMs > 0 && {
      statement_timeout: options.statementTimeoutMs,
      query_timeout: options.statementTimeoutMs + SILENCE_MARGIN_MS,
    }),
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_MS,
    keepAlive: true,
    application_name: "sealift-hub",
    types: typesOf(types),
    Client: boundedClient(Client, (client) => void readOnly.add(client)),
  });
  // The pool listens to idle clients only; an unhandled error event of a busy one would end the process.
  pool.on("connect", (client) => void client.on("error", options.onLostConnection));
  pool.on("error", () => {});
  // After its transaction was rolled back: closing earlier would hide why it failed.
  pool.on("release", (_error, client) => {
    if (readOnly.has(client)) void client.end();
  });
  if (options.statementTimeoutMs > 0)
    endSilence(pool, async (connectionTimeoutMillis) => {
      const client = new Client({ connectionString: options.url, connectionTimeoutMillis });
      client.on("error", () => {});
      await client.connect();
      await client.end();
    });
  return pool;
}
