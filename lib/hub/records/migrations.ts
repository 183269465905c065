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

const CHANGED = "create trigger projects_changed after update of latest_version, detail_etag, gate on projects";

const POSTGRES_CHANGES = [
  `create function sealift_changed() returns trigger language plpgsql as
    $$ begin perform pg_notify('${CHANGES_CHANNEL}', new.id); return null; end $$`,
  `${CHANGED} for each row
    when (new.latest_version is distinct from old.latest_version or new.detail_etag is distinct from old.detail_etag
      or new.gate is distinct from old.gate)
    execute function sealift_changed()`,
];

const SQLITE_CHANGES = [
  // Numbers are never reused: a hub may remember up to which one it has read.
  "create table changes (number integer primary key autoincrement, project_id text not null unique)",
  `${CHANGED} for each row
    when new.latest_version is not old.latest_version or new.detail_etag is not old.detail_etag
      or new.gate is not old.gate
    begin
      delete from changes where project_id = new.id;
      insert into changes (project_id) values (new.id);
    end`,
];

/** Part of a migration that is not declared with the tables; it runs after the statements generated from them. */
const WORK: Record<string, (db: Transacted, dialect: Dialect) => Promise<void>> = {
  async [FIRST_MIGRATION](db, dialect) {
    for (const each of dialect === "postgres" ? POSTGRES_CHANGES : SQLITE_CHANGES) await sql.raw(each).execute(db);
  },
  "0002-fleet-lists": renewHosts,
};

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
