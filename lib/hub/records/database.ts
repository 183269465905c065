import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Kysely, type LogEvent, sql } from "kysely";
import { usageError } from "../../contract/errors.ts";
import { concernsConnection, storageError } from "../storage-error.ts";
import { migrate } from "./migrations.ts";
import type { Database, Dialect, Statements } from "./port.ts";
import { openPostgres } from "./postgres.ts";
import type { Schema } from "./schema.ts";
import { openSqlite } from "./sqlite.ts";

export interface DatabaseOptions {
  /** Holds `hub.sqlite` unless `url` says otherwise. */
  dataDir: string;
  /** `postgres://…`, `postgresql://…`, `sqlite:PATH`, `file:` URL or a path. */
  url?: string;
  /** Hears every statement with its duration; tests count them. */
  onStatement?: ((text: string, durationMs: number) => void) | undefined;
  onIdleError: (error: Error) => void;
}

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
const heard = (statements: Statements, hear: (text: string) => void): Statements => ({
  first: (text, parameters) => (hear(text), statements.first(text, parameters)),
  all: (text, parameters) => (hear(text), statements.all(text, parameters)),
  close: () => statements.close(),
});

/** Opens the database of the hub and migrates it to the newest schema. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { url, onStatement } = options;
  const dialect: Dialect = url !== undefined && /^postgres(ql)?:\/\//.test(url) ? "postgres" : "sqlite";
  const opened =
    dialect === "postgres" ? await openPostgres(url ?? "", options.onIdleError) : openSqlite(sqlitePath(options));
  const kysely = new Kysely<Schema>({
    dialect: opened.dialect,
    ...(onStatement !== undefined && {
      log: (event: LogEvent) => onStatement(event.query.sql, event.queryDurationMillis),
    }),
  });
  try {
    await migrate(kysely as unknown as Kysely<never>, dialect);
    const constant = opened.openStatements();
    return {
      dialect,
      kysely,
      statements: onStatement === undefined ? constant : heard(constant, (text) => onStatement(text, 0)),
      check: async () => void (await sql`select 1`.execute(kysely)),
      async close() {
        constant.close();
        await kysely.destroy();
      },
    };
  } catch (error) {
    await kysely.destroy();
    if (dialect === "sqlite" || !concernsConnection(error)) throw error;
    throw storageError("The PostgreSQL database", error, "Check --database-url: host, user, password and database.");
  }
}
