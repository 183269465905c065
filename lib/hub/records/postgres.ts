import { createHash } from "node:crypto";
import { PostgresDialect } from "kysely";
import type pg from "pg";
import type { OpenDialect, Row, Statements, Value } from "./port.ts";

const BIGINT = 20;

/** Our integers are sizes and counters, all below 2^53. */
const typesOf = (types: typeof pg.types): pg.CustomTypesConfig => ({
  getTypeParser: ((oid: number, format?: "text" | "binary"): unknown =>
    oid === BIGINT && format !== "binary" ? Number : types.getTypeParser(oid, format)) as never,
});

/** Constant statements, prepared once per connection under a name made from their text. */
class PostgresStatements implements Statements {
  readonly #pool: pg.Pool;
  readonly #prepared = new Map<string, { name: string; text: string }>();

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  async all(text: string, parameters: readonly Value[]): Promise<Row[]> {
    let prepared = this.#prepared.get(text);
    if (prepared === undefined) {
      let index = 0;
      prepared = {
        name: `sealift_${createHash("sha256").update(text).digest("hex").slice(0, 32)}`,
        text: text.replace(/\?/g, () => `$${++index}`),
      };
      this.#prepared.set(text, prepared);
    }
    const { rows } = await this.#pool.query<Row>({ ...prepared, values: [...parameters] });
    return rows;
  }

  async first(text: string, parameters: readonly Value[]): Promise<Row | undefined> {
    return (await this.all(text, parameters))[0];
  }

  close(): void {
    // The pool belongs to kysely, which ends it.
  }
}

/**
 * A pool of PostgreSQL connections, shared by kysely and the constant statements.
 *
 * @param onIdleError an idle connection was lost; the pool replaces it by itself
 */
export async function openPostgres(url: string, onIdleError: (error: Error) => void): Promise<OpenDialect> {
  // Hubs on SQLite do without the driver.
  const { Pool, types } = (await import("pg")).default;
  const options = { connectionString: url, max: 10, connectionTimeoutMillis: 10_000 };
  const pool = new Pool({ ...options, types: typesOf(types) });
  pool.on("error", onIdleError);
  return { dialect: new PostgresDialect({ pool }), openStatements: () => new PostgresStatements(pool) };
}
