import { Kysely, sql } from "kysely";
import type * as z from "zod";
import { faultText } from "../../support/documents/fault-words.ts";
import { storageTrouble } from "../base/storage-error.ts";
import { renewTarget } from "./latest/change-target.ts";
import { REWRITING, versionOf } from "./migrations.ts";
import type { Database, Queries, Transacted } from "./port.ts";
import { openPostgres } from "./postgres.ts";
import { allProjects } from "./projects.ts";
import type { Schema } from "./schema.ts";
import { openSqliteReader } from "./sqlite.ts";
import type { AnyTable } from "./table.ts";

const PAGE_ROWS = 500;

/** Row being copied from one database to another. */
export interface CopiedRow {
  table: string;
  row: Record<string, string | number | null>;
}

export interface RowName {
  table: string;
  /** Values of its key, separated by spaces. */
  id: string;
}

/** Tables whose rows are copied, each after the tables that it refers to. */
export class CopiedTables {
  readonly #tables: ReadonlyMap<string, AnyTable>;
  /** Names of all migrations, which are the version of the schema. */
  readonly version: readonly string[];
  /** Rules for rows of earlier schemas by their table and version. */
  readonly #earlier = new Map<string, z.ZodType>();

  /** @param tables all tables of a hub, as {@link Database.tables} */
  constructor(tables: readonly AnyTable[]) {
    this.#tables = new Map(tables.filter(({ copied }) => copied).map((table) => [table.name, table]));
    this.version = versionOf(tables);
  }

  get names(): string[] {
    return [...this.#tables.keys()];
  }

  /** Returns the declaration of a table whose rows are copied. */
  table(name: string): AnyTable {
    return this.#tables.get(name)!;
  }

  nameOf({ table, row }: CopiedRow): RowName {
    const { key } = this.table(table);
    return { table, id: key.map((column) => row[column]).join(" ") };
  }

  /** Returns the names of the rows that a row refers to. */
  parentsOf({ table, row }: CopiedRow): RowName[] {
    const { references, needs } = this.table(table);
    const checked = Object.entries(references).map(([column, { table: parent }]) => [column, parent.name] as const);
    return [...checked, ...Object.entries(needs)].flatMap(([column, parent]) => {
      const id = row[column];
      return id === undefined || id === null ? [] : [{ table: parent, id: String(id) }];
    });
  }

  /** Returns the blob that a row describes, or undefined. */
  blobOf({ table, row }: CopiedRow): { id: string; size: number; sha256: string } | undefined {
    const { digest } = this.table(table);
    return digest === undefined
      ? undefined
      : { id: String(row["id"]), size: Number(row["size_bytes"]), sha256: String(row[digest]) };
  }

  /** True where rows of an earlier schema are as a migration leaves them: new columns get their defaults. */
  takesRowsOf(version: readonly string[]): boolean {
    return REWRITING.every((name) => version.includes(name));
  }

  /** Returns the rules for rows of a table in a version of the schema; its columns are there, and no later ones. */
  #rulesFor(name: string, version: readonly string[]): z.ZodType {
    const { rows, added } = this.table(name);
    const later = Object.entries(added).flatMap(([migration, { columns }]) =>
      version.includes(migration) ? [] : columns,
    );
    if (later.length === 0) return rows;
    const key = `${name} ${version.join(" ")}`;
    const known = this.#earlier.get(key);
    if (known !== undefined) return known;
    // The table is known at run time only, and so are its columns.
    const rules = rows.omit(Object.fromEntries(later.map((column) => [column, true])) as never);
    this.#earlier.set(key, rules);
    return rules;
  }

  /**
   * Validates a row against the schema of its table.
   *
   * @param version schema version of the source database
   * @returns what is wrong with it, or undefined
   */
  faultOf({ table, row }: CopiedRow, version: readonly string[]): string | undefined {
    const { rows, faultOf } = this.table(table);
    const issue = this.#rulesFor(table, version).safeParse(row).error?.issues[0];
    // A source of before a column has nothing in it.
    const whole = { ...Object.fromEntries(Object.keys(rows.shape).map((column) => [column, null])), ...row };
    return issue === undefined ? faultOf?.(whole) : `${issue.path.join(".") || "row"}: ${faultText(issue)}`;
  }
}

/** Snapshot of a database at one moment, while others write to it. */
export interface Snapshot extends AsyncDisposable {
  rows(): AsyncGenerator<CopiedRow>;
}

export async function openSnapshot({
  dialect,
  location,
  tables,
}: Pick<Database, "dialect" | "location" | "tables">): Promise<Snapshot> {
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
  // One connection and transaction, so that only what was committed at its start is read.
  const begin = dialect === "postgres" ? "begin isolation level repeatable read read only" : "begin deferred";
  await sql.raw(begin).execute(db);
  return {
    rows: () => allRows({ kysely: db, tables }),
    [Symbol.asyncDispose]: () => db.destroy(),
  };
}

/** Reads the rows of all copied tables, page by page. Outside of a snapshot each page is read at a different moment. */
export async function* allRows({ kysely, tables }: Pick<Database, "kysely" | "tables">): AsyncGenerator<CopiedRow> {
  for (const table of tables) if (table.copied) yield* rowsOf(kysely, table);
}

async function* rowsOf(db: Queries, { name: table, key }: AnyTable): AsyncGenerator<CopiedRow> {
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

/** Rows per statement: as many as its parameters allow. */
const BATCH_ROWS = 100;

export interface Replacement {
  /** Called with a row that the database rejects. Throws to end the transaction. */
  onRefused: (row: CopiedRow, why: string) => void;
  /** Tells whether every row arrived; called at the end. If not, the latest versions are computed again. */
  isWhole: () => boolean;
}

/** Replaces everything in a database by the given rows, in one transaction. @returns how many */
export function replaceRows(
  { kysely, tables }: Database,
  rows: AsyncIterable<CopiedRow>,
  { onRefused, isWhole }: Replacement,
): Promise<number> {
  return kysely.transaction().execute(async (transaction) => {
    for (const { name } of tables.toReversed()) await sql`delete from ${sql.table(name)}`.execute(transaction);
    let count = 0;
    const store = async (batch: readonly CopiedRow[]): Promise<void> => {
      const why = await refusalOf(transaction, batch);
      if (why === undefined) count += batch.length;
      else if (batch.length > 1) for (const row of batch) await store([row]);
      else onRefused(batch[0]!, why);
    };
    let batch: CopiedRow[] = [];
    for await (const row of rows) {
      if (batch.length === BATCH_ROWS || (batch.length > 0 && batch[0]!.table !== row.table)) {
        await store(batch);
        batch = [];
      }
      batch.push(row);
    }
    if (batch.length > 0) await store(batch);
    if (!isWhole())
      for await (const { id } of allProjects(transaction, undefined)) await renewTarget(transaction, id, Date.now());
    return count;
  });
}

/** Inserts rows of one table. @returns why the database rejects them; then none of them is stored */
async function refusalOf(transaction: Transacted, batch: readonly CopiedRow[]): Promise<string | undefined> {
  const values = batch.map(({ row }) => row);
  // Kysely has no types for a table given at run time: this one stands for any of them.
  const table = batch[0]!.table as "projects";
  await sql`savepoint batch`.execute(transaction);
  try {
    await transaction
      .insertInto(table)
      .values(values as never)
      .execute();
    return undefined;
  } catch (error) {
    if (storageTrouble(error) !== undefined) throw error;
    await sql`rollback to batch`.execute(transaction);
    return (error as Error).message;
  } finally {
    await sql`release batch`.execute(transaction);
  }
}
