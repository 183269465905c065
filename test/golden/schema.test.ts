import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import t from "tap";
import { FEATURES } from "../../lib/hub/features.ts";
import { statementsOf, versionOf } from "../../lib/hub/records/migrations.ts";
import { tablesOf } from "../../lib/hub/records/schema.ts";
import { golden } from "../support/golden.ts";
import { startHub } from "../support/hub/harness.ts";
import { startPostgres } from "../support/hub/postgres-server.ts";
import { needs } from "../support/programs/optional.ts";

t.test("migrations make the tables that they made: a column after a release comes with one of its own", (t) => {
  const tables = tablesOf(FEATURES);
  const lines = versionOf(tables).flatMap((name) => [
    name,
    ...statementsOf(tables, name, "sqlite").map((each) => `  ${each}`),
  ]);
  golden(t, "migrations.txt", lines.join("\n"));
  t.end();
});

t.test("the schema on SQLite is what it was", async (t) => {
  const hub = await startHub(t);
  using database = new DatabaseSync(join(hub.dataDir, "hub.sqlite"), { readOnly: true });
  const lines: string[] = [];
  /** Adds a line for each row of a query that gives it. */
  const list = (query: string): void => {
    for (const { line } of database.prepare(query).all()) lines.push(String(line));
  };
  const names = database.prepare("select name from sqlite_schema where type = 'table' order by name").all();
  for (const name of names.map((row) => String(row["name"]))) {
    lines.push(name);
    list(`select '  ' || name || ' ' || type || iif("notnull", ' not null', '')
      || iif(dflt_value is null, '', ' default ' || dflt_value) || iif(pk, ' key ' || pk, '') as line
      from pragma_table_info('${name}') order by name`);
    list(`select '  ' || "from" || ' references ' || "table" || ' (' || "to" || ') on delete ' || on_delete as line
      from pragma_foreign_key_list('${name}') order by "from"`);
    list(`select '  ' || iif(l."unique", 'unique ', '') || 'index ' || l.name || ' ('
      || (select group_concat(name, ', ') from (select name from pragma_index_info(l.name) order by seqno)) || ')' as line
      from pragma_index_list('${name}') l order by l.name`);
  }
  list("select sql as line from sqlite_schema where type = 'trigger' order by name");
  golden(t, "schema-sqlite.txt", lines.join("\n"));
});

t.test("the schema on PostgreSQL is what it was", { skip: needs("initdb") }, async (t) => {
  const databaseUrl = await startPostgres(t);
  await startHub(t, { databaseUrl: databaseUrl! });
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const rows = async (query: string): Promise<string[]> => {
    const { rows: found } = await client.query<{ line: string }>(query);
    return found.map(({ line }) => line.replaceAll(/\s+/g, " "));
  };
  const lines = [
    ...(await rows(`select table_name || '.' || column_name || ' ' || data_type || coalesce(' ' || collation_name, '')
        || case is_nullable when 'NO' then ' not null' else '' end || coalesce(' default ' || column_default, '') as line
      from information_schema.columns where table_schema = 'public' order by table_name collate "C", column_name collate "C"`)),
    ...(await rows(
      `select indexdef as line from pg_indexes where schemaname = 'public' order by indexname collate "C"`,
    )),
    ...(await rows(`select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) as line
      from pg_constraint where connamespace = 'public'::regnamespace and contype <> 'n' order by 1`)),
    ...(await rows(`select pg_get_triggerdef(oid) as line from pg_trigger where not tgisinternal order by tgname`)),
    ...(await rows(`select prosrc as line from pg_proc where pronamespace = 'public'::regnamespace order by proname`)),
  ];
  await client.end();
  golden(t, "schema-postgres.txt", lines.join("\n"));
});
