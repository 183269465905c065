// Only in test:all: it starts many sandboxes, 8 s of a processor.
// In a process of its own: it waits for a database that others keep busy.
import t, { type Test } from "tap";
import { startPostgres } from "../../support/hub/postgres-server.ts";
import { inEachSetting, startAttacker } from "../../support/runtime/attacker.ts";
import { actions, type Host, sandboxed } from "../../support/runtime/host.ts";

/** The state of one plugin's database session must not reach another plugin, or its own next call. */

const ALL = { permissions: [{ resource: "*", actions: ["*"] }], resources: { timeout_seconds: 20 } };
const USER = actions(`
  sql: ({ database, method, sql }, { services }) => services.databases[database][method](sql),
  hold: ({ database, sql, ms }, { services }) => services.databases[database].transaction(async (inside) => {
    await inside.execute(sql);
    await new Promise((done) => setTimeout(done, ms));
    return inside.query("SELECT count(*) AS n FROM items");
  }),
  fail: ({ database, sql }, { services }) => services.databases[database].transaction(async (inside) => {
    await inside.execute(sql);
    throw new Error("changed my mind");
  }),
`);

const url = await startPostgres(t);
const databases = {
  sqlite: { type: "sqlite", url: "sqlite:main.db" },
  memory: { type: "sqlite", url: ":memory:" },
  ...(url !== undefined && { postgresql: { type: "postgresql", url } }),
};
if (url === undefined) t.test("PostgreSQL", { skip: "PostgreSQL is not installed" }, () => undefined);

/** The ways to one database; each attack begins with an empty table. */
function waysTo(host: Host, database: string) {
  const sql = (plugin: string, method: "query" | "execute", text: string) =>
    host.call(plugin, "sql", { database, method, sql: text });
  return {
    sql,
    hold: (text: string, ms: number) => host.call("evil", "hold", { database, sql: text, ms }),
    fail: (text: string) => host.call("evil", "fail", { database, sql: text }),
    count: async () => Number((await sql("victim", "query", "SELECT count(*) AS n FROM items")).body.result[0].n),
    begin: async (): Promise<void> => {
      await sql("victim", "execute", "DROP TABLE IF EXISTS items");
      await sql("victim", "execute", "CREATE TABLE items (name text)");
    },
  };
}
const INSERT = "INSERT INTO items (name) VALUES ('one')";

inEachSetting("one plugin's session at a database is none of another's", async (t, setting) => {
  const host = await startAttacker(t, {
    setting,
    plugins: { evil: sandboxed("evil", USER, ALL), victim: sandboxed("victim", USER, ALL) },
    configuration: { services: { databases } },
  });
  for (const database of Object.keys(databases)) await t.test(database, (t) => attack(t, host, database));
  await t.test("a transaction that takes too long is given up", async (t) => {
    const all = Object.keys(databases).map((database) => waysTo(host, database));
    await Promise.all(all.map(({ begin }) => begin()));
    for (const held of await Promise.all(all.map(({ hold }) => hold(INSERT, 6000))))
      t.match(held, { status: 500, body: { msg: /transaction is over/ } });
    for (const { count, sql } of all) {
      t.equal(await count(), 0);
      t.match(await sql("victim", "execute", INSERT), { status: 200 }, "the database can be written again");
    }
  });
});

async function attack(t: Test, host: Host, database: string): Promise<void> {
  const { begin, sql, hold, fail, count } = waysTo(host, database);
  t.beforeEach(begin);

  await t.test("a BEGIN of one plugin takes nothing of another with it when it is rolled back", async (t) => {
    await sql("evil", "execute", "BEGIN");
    t.match(await sql("victim", "execute", "INSERT INTO items (name) VALUES ('kept')"), {
      status: 200,
      body: { result: { changes: 1 } },
    });
    await sql("evil", "execute", "ROLLBACK");
    await sql("evil", "query", "ROLLBACK");
    t.match(await sql("victim", "query", "SELECT name FROM items"), { body: { result: [{ name: "kept" }] } });
  });

  await t.test("a BEGIN of a reader pins no old state for the others", async (t) => {
    await sql("evil", "query", "BEGIN");
    await sql("evil", "query", "SELECT * FROM items");
    await sql("victim", "execute", "INSERT INTO items (name) VALUES ('new')");
    t.match(await sql("evil", "query", "SELECT name FROM items"), { body: { result: [{ name: "new" }] } });
    t.match(await sql("victim", "query", "SELECT name FROM items"), { body: { result: [{ name: "new" }] } });
  });

  await t.test("temporary objects end with their statement", async (t) => {
    await sql("victim", "execute", "INSERT INTO items (name) VALUES ('real')");
    await sql("evil", "execute", "CREATE TEMP TABLE items (name text)");
    for (let round = 0; round < 12; round++) {
      t.match(await sql("victim", "query", "SELECT name FROM items"), { body: { result: [{ name: "real" }] } });
    }
  });

  await t.test("a transaction is committed, and rolled back", async (t) => {
    t.match(await hold(INSERT, 0), { status: 200, body: { result: [{}] } });
    t.match(await fail(INSERT), { status: 500, body: { msg: "changed my mind" } });
    t.equal(await count(), 1);
  });

  if (database !== "postgresql") return;
  await t.test("what a plugin SETs is gone with its statement", async (t) => {
    for (const [method, text] of [
      ["execute", "SET search_path TO nope"],
      ["query", "SELECT set_config('search_path', 'nope', false)"],
      ["execute", "SET statement_timeout TO 0"],
      ["execute", "SET ROLE pg_monitor"],
      ["query", "SELECT pg_advisory_lock(7)"],
    ] as const) {
      t.match(await sql("evil", method, text), { status: 200 }, text);
      for (let round = 0; round < 12; round++) {
        const counted = await sql("victim", "query", "SELECT count(*)::int AS n FROM items");
        t.match(counted, { body: { result: [{ n: 0 }] } }, text);
      }
    }
    const shown = await sql("victim", "query", "SHOW statement_timeout");
    t.match(shown, { body: { result: [{ statement_timeout: "10s" }] } });
    const who = await sql("victim", "query", "SELECT current_user AS me");
    t.match(who, { body: { result: [{ me: "hub" }] } });
    const lock = await sql("victim", "query", "SELECT pg_try_advisory_lock(7) AS free");
    t.match(lock, { body: { result: [{ free: true }] } });
  });
}
