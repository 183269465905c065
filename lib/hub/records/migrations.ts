import { type Kysely, sql } from "kysely";
import { type Migration, Migrator } from "kysely/migration";
import { usageError } from "../../contract/errors.ts";
import { statementsFor } from "./ddl.ts";
import { renewHosts } from "./host-rows.ts";
import { SKELETON_INDEX } from "./look-alikes.ts";
import type { Dialect, Transacted } from "./port.ts";
import { type AnyTable, FIRST_MIGRATION } from "./table.ts";

/** PostgreSQL channel on which hubs announce changed projects. */
export const CHANGES_CHANNEL = "sealift_changes";

/** Columns of a project on which its answers depend, by the migration since which they do. */
const FIRST_ANSWERS = ["latest_version", "detail_etag", "gate"];
const ROOT_ANSWERS = [...FIRST_ANSWERS, "root_version"];
const SETTINGS_ANSWERS = [...ROOT_ANSWERS, "settings_version"];

/** Returns the trigger that announces projects whose columns have changed. */
function changedTrigger(columns: readonly string[], dialect: Dialect): string {
  const [differs, work] =
    dialect === "postgres"
      ? ["is distinct from", "execute function sealift_changed()"]
      : [
          "is not",
          `begin
      delete from changes where project_id = new.id;
      insert into changes (project_id) values (new.id);
    end`,
        ];
  const conditions = columns.map((column) => `new.${column} ${differs} old.${column}`).join(" or ");
  return `create trigger projects_changed after update of ${columns.join(", ")} on projects for each row
    when (${conditions})
    ${work}`;
}

/** Returns a migration's work that lets the trigger announce further columns. */
const announces =
  (columns: readonly string[]) =>
  async (db: Transacted, dialect: Dialect): Promise<void> => {
    await sql.raw(`drop trigger projects_changed${dialect === "postgres" ? " on projects" : ""}`).execute(db);
    await sql.raw(changedTrigger(columns, dialect)).execute(db);
  };

const ANNOUNCING: Record<Dialect, string> = {
  postgres: `create function sealift_changed() returns trigger language plpgsql as
    $$ begin perform pg_notify('${CHANGES_CHANNEL}', new.id); return null; end $$`,
  // Numbers are never reused: a hub may remember up to which one it has read.
  sqlite: "create table changes (number integer primary key autoincrement, project_id text not null unique)",
};

/** Part of a migration that is not declared with the tables; it runs after the statements generated from them. */
const WORK: Record<string, (db: Transacted, dialect: Dialect) => Promise<void>> = {
  async [FIRST_MIGRATION](db, dialect) {
    for (const each of [ANNOUNCING[dialect], changedTrigger(FIRST_ANSWERS, dialect)]) await sql.raw(each).execute(db);
  },
  "0002-fleet-lists": renewHosts,
  "0011-trust-roots": announces(ROOT_ANSWERS),
  // Hosts whose last report does not blame its version wait. A restored row has its state by its next report.
  "0012-halts": renewHosts,
  "0013-settings": announces(SETTINGS_ANSWERS),
};

/** Migrations that compute values of the rows that are there; the others only add columns, tables and indexes. */
export const REWRITING: readonly string[] = ["0002-fleet-lists"];

/** Indexes of expressions, which tables do not declare, by their migration. */
const INDEXES: Record<string, readonly string[]> = { "0009-look-alikes": [SKELETON_INDEX] };

/** Returns the names of all migrations, in order: the version of the schema. */
export const versionOf = (tables: readonly AnyTable[]): readonly string[] =>
  [
    ...new Set([
      ...Object.keys({ ...WORK, ...INDEXES }),
      ...tables.flatMap(({ since, added }) => [since, ...Object.keys(added)]),
    ]),
  ].toSorted();

/**
 * Returns a migration's statements, most of them generated from the table declarations. Those of a released migration
 * never change.
 */
export const statementsOf = (tables: readonly AnyTable[], migration: string, dialect: Dialect): string[] => [
  ...tables.flatMap((table) => statementsFor(table, migration, dialect)),
  ...(INDEXES[migration] ?? []),
];

const migrationOf = (tables: readonly AnyTable[], name: string, dialect: Dialect): Migration => ({
  // The migrator runs all migrations in one transaction, where the database allows it: both do.
  async up(db) {
    for (const each of statementsOf(tables, name, dialect)) await sql.raw(each).execute(db);
    await WORK[name]?.(db as Transacted, dialect);
  },
});

/**
 * Migrates the database to the newest schema. Several hubs may start at the same time: the migrator takes its lock.
 *
 * @throws UsageError `usage` for a schema of another version
 */
export async function migrate(db: Kysely<never>, dialect: Dialect, tables: readonly AnyTable[]): Promise<void> {
  const all = Object.fromEntries(versionOf(tables).map((name) => [name, migrationOf(tables, name, dialect)]));
  const provider = { getMigrations: () => Promise.resolve(all) };
  const { error } = await new Migrator({ db, provider }).migrateToLatest();
  if (error instanceof Error && error.message.startsWith("corrupted migrations"))
    throw usageError("usage", "The database has a schema that this version of Sealift does not know.", {
      hint: "Use the version of Sealift that opened it last: it is newer than this one, or older than the first release.",
      cause: error,
    });
  if (error !== undefined) throw error instanceof Error ? error : new Error("migration failed", { cause: error });
}
