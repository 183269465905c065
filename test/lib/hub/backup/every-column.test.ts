// Holds: what a backup copies (lib/hub/records/copy.ts)
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import t from "tap";
import { backupHub, moveHub, restoreHub } from "../../../../lib/hub/backup/backup.ts";
import { FEATURES } from "../../../../lib/hub/features.ts";
import { fullHub } from "../../../support/hub/full-hub.ts";
import { startPostgres } from "../../../support/hub/postgres-server.ts";

/**
 * Tables whose rows stay behind: sessions and counts end by themselves, changes and migrations are each database's, and
 * components are read from their SBOMs again.
 */
const LEFT_BEHIND = [
  ...["sessions", "rate_counts", "changes", "kysely_migration", "kysely_migration_lock"],
  ...["components", "component_lists", "component_uses"],
];

/** Every row of a hub's database that is worth keeping, as text, read without the product's own code. */
function rowsIn(dataDir: string): string[] {
  using database = new DatabaseSync(join(dataDir, "hub.sqlite"), { readOnly: true });
  const names = database.prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'");
  return (names.all() as { name: string }[])
    .filter(({ name }) => !LEFT_BEHIND.includes(name))
    .flatMap(({ name }) => {
      const columns = database.prepare(`select name from pragma_table_info('${name}')`).all() as { name: string }[];
      const list = columns.map((column) => column.name).toSorted();
      const rows = database.prepare(`select ${list.join(", ")} from ${name}`).all();
      return rows.map((row) => `${name} ${JSON.stringify(row)}`).toSorted();
    })
    .toSorted();
}

t.test("every column of every table comes back from a backup, and from a move there and back", async (t) => {
  const folder = t.testdir();
  const { hub } = await fullHub(t, join(folder, "hub"));
  await hub.hub.close();
  const before = rowsIn(hub.dataDir);
  await backupHub({ hooks: FEATURES, dataDir: hub.dataDir }, join(folder, "backup"));
  await restoreHub(
    join(folder, "backup"),
    { hooks: FEATURES, dataDir: join(folder, "restored") },
    { trust: "unsigned" },
  );
  t.strictSame(rowsIn(join(folder, "restored")), before);
  const databaseUrl = await startPostgres(t);
  if (databaseUrl === undefined) return;
  const there = { hooks: FEATURES, dataDir: join(folder, "there"), databaseUrl };
  await moveHub({ hooks: FEATURES, dataDir: hub.dataDir }, there);
  await moveHub(there, { hooks: FEATURES, dataDir: join(folder, "back") });
  t.strictSame(rowsIn(join(folder, "back")), before);
});
