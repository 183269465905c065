// Holds: a migration is done or undone, and a newer schema is left alone (lib/hub/records/migrations.ts)
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import pg from "pg";
import t from "tap";
import { sha256 } from "../support/hub/harness.ts";
import { type Past, unpackPast } from "../support/past/fixture.ts";
import { restoreDump } from "../support/past/postgres.ts";
import { inColumnsOf, rowsOf } from "../support/past/rows.ts";
import { builtFile, builtProgram } from "../support/programs/command-line.ts";
import { needs } from "../support/programs/optional.ts";
import { until } from "../support/until.ts";

const KILLING = fileURLToPath(new URL("../support/programs/killed-at-statement-program.ts", import.meta.url));

/** Opens the database with today's `sealift`, which brings it forward. @returns its exit code and error, if any */
async function open(past: Past, dataDir: string, secrets: Record<string, string> = {}) {
  const args = ["hub", "verify", "--data-dir", dataDir, "--quick", "--json"];
  const env = { PATH: process.env["PATH"], ...past.clock, ...secrets };
  const { code, stdout } = await builtProgram(args, { cwd: past.path(), env });
  const last = stdout.trim().split("\n").at(-1) ?? "";
  const { error } = (last === "" ? {} : JSON.parse(last)) as { error?: { message: string; hint?: string } };
  return { code, error };
}

async function digestsOf(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const digests = files.map(async (file) => [file, sha256(await readFile(file))] as const);
  return Object.fromEntries(await Promise.all(digests));
}

t.test(
  "a migration that is killed in the middle is undone, and done at the next start",
  { skip: needs("tar") },
  async (t) => {
    const past = await unpackPast(t);
    const file = past.path("hub/hub.sqlite");
    const before = await rowsOf(file);
    const NODE_OPTIONS = `${past.clock["NODE_OPTIONS"]} --import=${KILLING}`;
    const moments = [
      "create index component_lists_pending",
      "alter table hosts add column unhealthy_since",
      "drop trigger projects_changed",
      "create table trust_roots",
      `insert into "kysely_migration"`,
      "commit",
    ];
    for (const moment of moments) {
      await open(past, past.path("hub"), { NODE_OPTIONS, KILL_AT: moment });
      const after = await rowsOf(file);
      t.same(Object.keys(after).toSorted(), Object.keys(before).toSorted(), `no table was made by ${moment}`);
      t.same(after, before, `all is as it was before ${moment}`);
    }
    t.match(await open(past, past.path("hub")), { code: 0 });
    t.same(inColumnsOf(before, await rowsOf(file)), inColumnsOf(before, before));
  },
);

t.test(
  "a migration with a statement that fails is undone, and done once its cause is gone",
  { skip: needs("tar") },
  async (t) => {
    const past = await unpackPast(t);
    const file = past.path("hub/hub.sqlite");
    const run = (statement: string): void => {
      using database = new DatabaseSync(file);
      database.exec(statement);
    };
    run("create table trust_roots (in_the_way text)");
    const before = await rowsOf(file);
    t.not((await open(past, past.path("hub"))).code, 0);
    t.same(await rowsOf(file), before);
    run("drop table trust_roots");
    t.match(await open(past, past.path("hub")), { code: 0 });
    t.ok("ends" in (await rowsOf(file))["api_keys"]![0]!);
  },
);

t.test(
  "a migration of PostgreSQL that is killed in the middle is undone",
  { skip: needs("initdb", "tar") },
  async (t) => {
    const past = await unpackPast(t);
    const url = await restoreDump(t, past);
    const before = await rowsOf(url);
    const holder = new pg.Client({ connectionString: url });
    await holder.connect();
    t.teardown(() => holder.end());
    // One of the last migrations waits for it, in the middle of the transaction.
    await holder.query("begin");
    await holder.query("lock table hosts in access share mode");
    const args = [builtFile("sealift"), "hub", "verify", "--data-dir", past.path("postgres"), "--quick"];
    const env = { PATH: process.env["PATH"], ...past.clock, SEALIFT_DATABASE_URL: url };
    const child = spawn(process.execPath, args, { env, stdio: "ignore" });
    const exited = once(child, "exit");
    const isWaiting =
      "select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like 'alter table hosts%'";
    const watcher = new pg.Client({ connectionString: url });
    await watcher.connect();
    t.teardown(() => watcher.end());
    await until(async () => (await watcher.query(isWaiting)).rowCount !== 0);
    child.kill("SIGKILL");
    await exited;
    await holder.query("rollback");
    t.same(await rowsOf(url), before);
    t.match(await open(past, past.path("postgres"), { SEALIFT_DATABASE_URL: url }), { code: 0 });
    t.same(inColumnsOf(before, await rowsOf(url)), inColumnsOf(before, before));
  },
);

t.test(
  "a database of a newer version is refused, and no byte of its files changes",
  { skip: needs("tar") },
  async (t) => {
    const past = await unpackPast(t);
    t.match(await open(past, past.path("hub")), { code: 0 });
    {
      using database = new DatabaseSync(past.path("hub/hub.sqlite"));
      database.exec("insert into kysely_migration values ('9999-later', '2099-01-01T00:00:00.000Z')");
      database.exec("create table later (id text)");
    }
    const before = await digestsOf(past.path("hub"));
    const { code, error } = await open(past, past.path("hub"));
    t.match(
      { code, error },
      { code: 2, error: { message: /does not know/, hint: /version of Sealift that opened it/ } },
    );
    await t.rejects(past.serve(), /does not know/);
    // A hub that starts may make its reserve of disk space first, which is no file of the other version.
    t.match(await digestsOf(past.path("hub")), before);
  },
);
