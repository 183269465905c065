import { DatabaseSync } from "node:sqlite";
import { FEATURES } from "../../../lib/hub/features.ts";
import { statementsOf, versionOf } from "../../../lib/hub/records/migrations.ts";
import { tablesOf } from "../../../lib/hub/records/schema.ts";
import { FIRST_MIGRATION } from "../../../lib/hub/records/table.ts";

/** Takes back, in a closed SQLite file, what all migrations after the first one have added. */
export function takeBackMigrations(path: string): void {
  const tables = tablesOf(FEATURES);
  const later = versionOf(tables).filter((name) => name > FIRST_MIGRATION);
  const undone = later
    .flatMap((name) => statementsOf(tables, name, "sqlite"))
    .toReversed()
    .map((statement) =>
      statement
        .replace(/^create (?:unique )?(table|index) (\S+) .*$/s, "drop $1 $2")
        .replace(/^alter table (\S+) add column (\S+) .*$/s, "alter table $1 drop column $2"),
    );
  using database = new DatabaseSync(path, { timeout: 10_000 });
  // Since 0011 and 0013 the trigger names columns that go.
  const found = database.prepare("select sql from sqlite_master where name = 'projects_changed'").get();
  const trigger = String(found?.["sql"]).replace(
    /, (?:root|settings)_version| or new\.(\w+) is not old\.(?:root|settings)_version/g,
    "",
  );
  for (const statement of ["drop trigger projects_changed", ...undone, trigger]) database.exec(statement);
  database.prepare("delete from kysely_migration where name > ?").run(FIRST_MIGRATION);
}
