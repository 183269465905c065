import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Kysely, type LogEvent, sql } from "kysely";
import { usageError } from "../../contract/errors.ts";
import { statsOf } from "../../support/files.ts";
import { concernsConnection, storageError, storageTrouble } from "../base/storage-error.ts";
import { carryHooks, type RecordHooks } from "./hooks.ts";
import { migrate } from "./migrations.ts";
import type { Database, PreparedStatements, Queries } from "./port.ts";
import { openPostgres, type PostgresOptions } from "./postgres.ts";
import { type Schema, tablesOf } from "./schema.ts";
import { openSqlite } from "./sqlite.ts";
import type { AnyTable } from "./table.ts";

/** Stores a value shared by the hubs of one database. */
async function writeState(db: Queries, name: string, value: string): Promise<void> {
  await db
    .insertInto("hub_state")
    .values({ name, value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
    .execute();
}

export interface DatabaseOptions {
  /** Folder of `hub.sqlite`, unless `url` says otherwise. */
  dataDir: string;
  /** `postgres://…`, `postgresql://…`, `sqlite:PATH`, `file:` URL or a path. */
  url?: string;
  /** Features, with their tables and their part in changes. */
  hooks: readonly RecordHooks[];
  /** Called with every statement and its duration; tests count them. */
  onStatement?: ((text: string, durationMs: number, failed: boolean) => void) | undefined;
  /** Fails instead of creating a missing SQLite file. */
  mustExist?: boolean;
  /** Most connections of this process to PostgreSQL. */
  poolSize?: number;
  statementTimeoutMs?: number;
  /** Called when a connection to PostgreSQL was lost, idle or in use; the pool replaces it by itself. */
  onLostConnection?: (error: Error) => void;
}

/** Defaults for PostgreSQL; SQLite runs in this process. */
export const POSTGRES_DEFAULTS = { poolSize: 10, statementTimeoutMs: 10_000, connectTimeoutMs: 3000 } as const;

function sqlitePath({ dataDir, url }: DatabaseOptions): string {
  if (url === undefined || url === "") return join(dataDir, "hub.sqlite");
  if (url.startsWith("file:")) return fileURLToPath(url);
  const path = url.replace(/^sqlite:(\/\/)?/, "");
  if (/^[a-z][a-z0-9+.-]*:/i.test(path)) {
    throw usageError("usage", `The database URL ${path.split(":")[0]}: is not known; use postgres:// or sqlite:PATH.`);
  }
  return path;
}

/** Passes each constant statement on to `hear`, as kysely's own log does for its queries. */
function heard(statements: PreparedStatements, hear: NonNullable<DatabaseOptions["onStatement"]>): PreparedStatements {
  const timed = <T>(text: string, ask: () => T | Promise<T>): T | Promise<T> => {
    const started = performance.now();
    const report = (failed: boolean): void => hear(text, performance.now() - started, failed);
    let answer: T | Promise<T>;
    try {
      answer = ask();
    } catch (error) {
      report(true);
      throw error;
    }
    // SQLite answers synchronously.
    if (answer instanceof Promise) {
      answer.then(
        () => report(false),
        () => report(true),
      );
    } else report(false);
    return answer;
  };
  return {
    first: (text, parameters) => timed(text, () => statements.first(text, parameters)),
    all: (text, parameters) => timed(text, () => statements.all(text, parameters)),
    close: () => statements.close(),
  };
}

/** Returns the path of a database file. @throws UsageError `usage` when the file must exist and does not */
async function existingPath(options: DatabaseOptions): Promise<string> {
  const path = sqlitePath(options);
  if (options.mustExist !== true || (await statsOf(path)) !== undefined) return path;
  throw usageError("usage", `There is no database ${path}.`, { hint: "Check --data-dir and --database-url." });
}

async function postgresNow(kysely: Queries): Promise<number> {
  const { rows } = await sql<{ now: string }>`select extract(epoch from clock_timestamp()) * 1000 as now`.execute(
    kysely,
  );
  return Number(rows[0]?.now);
}

/** Migrates a PostgreSQL database without a statement timeout: an index over many rows takes its time. */
async function migratePostgres(postgres: PostgresOptions, tables: readonly AnyTable[]): Promise<void> {
  const { dialect } = await openPostgres({ ...postgres, poolSize: 2, statementTimeoutMs: 0 });
  const kysely = new Kysely<Schema>({ dialect });
  try {
    await migrate(kysely as unknown as Kysely<never>, "postgres", tables);
  } catch (error) {
    throw storageTrouble(error) === undefined && !concernsConnection(error)
      ? error
      : storageError("The PostgreSQL database", error, "Check --database-url: host, user, password and database.");
  } finally {
    await kysely.destroy();
  }
}

/** Opens the database of the hub and migrates it to the newest schema. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { url, onStatement } = options;
  const isPostgres = url !== undefined && /^postgres(ql)?:\/\//.test(url);
  const postgres: PostgresOptions = {
    url: url ?? "",
    poolSize: options.poolSize ?? POSTGRES_DEFAULTS.poolSize,
    statementTimeoutMs: options.statementTimeoutMs ?? POSTGRES_DEFAULTS.statementTimeoutMs,
    connectTimeoutMs: POSTGRES_DEFAULTS.connectTimeoutMs,
    onLostConnection: options.onLostConnection ?? (() => {}),
  };
  const tables = tablesOf(options.hooks);
  if (isPostgres) await migratePostgres(postgres, tables);
  const opened = isPostgres ? await openPostgres(postgres) : openSqlite(await existingPath(options));
  const kysely = new Kysely<Schema>({
    dialect: opened.dialect,
    ...(onStatement !== undefined && {
      log: ({ level, query, queryDurationMillis }: LogEvent) =>
        onStatement(query.sql, queryDurationMillis, level === "error"),
    }),
  });
  carryHooks(kysely, options.hooks);
  // On a connection of its own: a check queued behind requests would report a busy database as unreachable.
  const checks = isPostgres
    ? new Kysely<Schema>({ dialect: (await openPostgres({ ...postgres, poolSize: 1 })).dialect })
    : kysely;
  try {
    if (!isPostgres) await migrate(kysely as unknown as Kysely<never>, "sqlite", tables);
    const constant = opened.openStatements();
    return {
      dialect: isPostgres ? "postgres" : "sqlite",
      location: isPostgres ? postgres.url : sqlitePath(options),
      tables,
      kysely,
      statements: onStatement === undefined ? constant : heard(constant, onStatement),
      ...(isPostgres && { now: () => postgresNow(kysely) }),
      ...(opened.waitedMs && { waitedMs: opened.waitedMs }),
      checkRead: async () => void (await sql`select 1 from hub_state limit 1`.execute(checks)),
      checkWrite: (now) => writeState(checks, "checked-at", now),
      async close() {
        await Promise.all([constant.close(), kysely.destroy(), checks === kysely ? undefined : checks.destroy()]);
      },
    };
  } catch (error) {
    await kysely.destroy();
    throw error;
  }
}
