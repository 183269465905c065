import { Kysely, sql } from "kysely";
import type { Database, Queries } from "./port.ts";
import { openPostgres } from "./postgres.ts";
import type { Schema } from "./schema.ts";
import { openSqliteReader } from "./sqlite.ts";

/**
 * Every table that is worth keeping, with its key, in an order in which each row finds what it refers to. Sessions and
 * rate counts are left behind: agents open new ones.
 */
const TABLES = {
  projects: ["id"],
  api_keys: ["id"],
  deployment_credentials: ["hash"],
  artifacts: ["id"],
  deltas: ["id"],
  indexes: ["id"],
  releases: ["id"],
  deleted_versions: ["project_id", "version"],
  grants: ["target_id", "grantee"],
  reports: ["id"],
  hosts: ["holder", "target", "host_id"],
  views: ["holder", "target"],
  keks: ["id"],
  sealed_secrets: ["name"],
  quotas: ["subject"],
  audit: ["id"],
  hub_state: ["name"],
} as const satisfies Partial<Record<keyof Schema, readonly string[]>>;

export type CopiedTable = keyof typeof TABLES;

/** Tables whose rows stand for a blob of the same id, with the column that holds its digest. */
const DIGESTS: Partial<Record<CopiedTable, string>> = {
  artifacts: "artifact_sha256",
  deltas: "artifact_sha256",
  releases: "sha256",
  indexes: "sha256",
};

const PAGE_ROWS = 500;

/** A row on its way from one database to another. */
export interface CopiedRow {
  table: CopiedTable;
  row: Record<string, string | number | null>;
}

export const isCopiedTable = (name: string): name is CopiedTable => Object.hasOwn(TABLES, name);

/** The blob that a row stands for, or undefined. */
export function blobOf({ table, row }: CopiedRow): { id: string; size: number; sha256: string } | undefined {
  const digest = DIGESTS[table];
  return digest === undefined
    ? undefined
    : { id: String(row["id"]), size: Number(row["size_bytes"]), sha256: String(row[digest]) };
}

/** A view of a database as it is at one moment, beside whoever writes to it. */
export interface Snapshot extends AsyncDisposable {
  rows(): AsyncGenerator<CopiedRow>;
}

/** @param location as {@link Database.location} */
export async function openSnapshot({ dialect, location }: Pick<Database, "dialect" | "location">): Promise<Snapshot> {
  const opened =
    dialect === "postgres"
      ? (
          await openPostgres({
            url: location,
            poolSize: 1,
            statementTimeoutMs: 0,
            connectTimeoutMs: 10_000,
            onLostConnection: () => {},
          })
        ).dialect
      : openSqliteReader(location);
  const db = new Kysely<Schema>({ dialect: opened });
  // One connection, one transaction: what is read is what was committed when it began.
  const begin = dialect === "postgres" ? "begin isolation level repeatable read read only" : "begin deferred";
  await sql.raw(begin).execute(db);
  return {
    async *rows() {
      for (const table of Object.keys(TABLES) as CopiedTable[]) yield* rowsOf(db, table);
    },
    [Symbol.asyncDispose]: () => db.destroy(),
  };
}

async function* rowsOf(db: Queries, table: CopiedTable): AsyncGenerator<CopiedRow> {
  const key: readonly string[] = TABLES[table];
  const columns = sql.join(key.map((column) => sql.ref(column)));
  for (let last: CopiedRow["row"] | undefined; ;) {
    const after =
      last === undefined ? sql`` : sql`where (${columns}) > (${sql.join(key.map((column) => last?.[column]))})`;
    const query = sql<
      CopiedRow["row"]
    >`select * from ${sql.table(table)} ${after} order by ${columns} limit ${sql.lit(PAGE_ROWS)}`;
    const { rows } = await query.execute(db);
    for (const row of rows) yield { table, row };
    if (rows.length < PAGE_ROWS) return;
    last = rows.at(-1);
  }
}

/** Puts rows in the place of all that a database holds, in one transaction. @returns how many */
export function replaceRows({ kysely }: Database, rows: AsyncIterable<CopiedRow>): Promise<number> {
  return kysely.transaction().execute(async (transaction) => {
    for (const table of ["rate_counts", "sessions", ...Object.keys(TABLES).toReversed()]) {
      await sql`delete from ${sql.table(table)}`.execute(transaction);
    }
    let count = 0;
    let batch: CopiedRow[] = [];
    const flush = async (): Promise<void> => {
      if (batch.length === 0) return;
      const values = batch.map(({ row }) => row);
      await transaction.insertInto(batch[0]!.table).values(values).execute();
      count += batch.length;
      batch = [];
    };
    for await (const row of rows) {
      if (batch.length === BATCH_ROWS || (batch.length > 0 && batch[0]!.table !== row.table)) await flush();
      batch.push(row);
    }
    await flush();
    return count;
  });
}

/** As many as the parameters of one statement allow. */
const BATCH_ROWS = 100;
