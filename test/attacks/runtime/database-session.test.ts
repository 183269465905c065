import t, { type Test } from "tap";
import { startPostgres } from "../../support/hub/postgres-server.ts";
import { actions, sandboxed, startHost } from "../../support/runtime/host.ts";

/** The state of one plugin's database session must not reach another plugin, or its own next call. */

const ALL = { permissions: [{ resource: "*", actions: ["*"] }], resources: { timeout_seconds: 20 } };
const USER = actions(`
  sql: ({ method, sql, values }, { services }) => services.databases.main[method](sql, values),
  hold: ({ sql, ms }, { services }) => services.databases.main.transaction(async (inside) => {
    await inside.execute(sql);
    await new Promise((done) => setTimeout(done, ms));
    return inside.query("SELECT count(*) AS n FROM items");
  }),
  fail: ({ sql }, { services }) => services.databases.main.transaction(async (inside) => {
    await inside.execute(sql);
    throw new Error("changed my mind");
  }),
`);

/** One runtime for all attacks on one database; each attack begins with an empty table. */
async function startPlugins(t: Test, database: { type: string; url: string }) {
  const host = await startHost(t, {
    plugins: { evil: sandboxed("evil", USER, ALL), victim: sandboxed("victim", USER, ALL) },
    configuration: { services: { databases: { main: database } } },
  });
  const sql = (plugin: string, method: "query" | "execute", text: string) =>
    host.call(plugin, "sql", { method, sql: text });
  const begin = async (): Promise<void> => {
    await sql("victim", "execute", "DROP TABLE IF EXISTS items");
    await sql("victim", "execute", "CREATE TABLE items (name text)");
  };
  return { host, sql, begin };
}

const url = await startPostgres(t);
const databases: Record<string, { type: string; url: string | undefined }> = {
  SQLite: { type: "sqlite", url: "sqlite:main.db" },
  "SQLite in memory": { type: "sqlite", url: ":memory:" },
  PostgreSQL: { type: "postgresql", url },
};

for (const [name, { type, url }] of Object.entries(databases)) {
  const skip = url === undefined && "PostgreSQL is not installed";
  t.test(name, { skip }, async (t) => {
    const { host, sql, begin } = await startPlugins(t, { type, url: url ?? "" });
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

    await t.test("a transaction is committed, rolled back, and given up when it takes too long", async (t) => {
      const insert = "INSERT INTO items (name) VALUES ('one')";
      t.match(await host.call("evil", "hold", { sql: insert, ms: 0 }), { status: 200, body: { result: [{}] } });
      t.match(await host.call("evil", "fail", { sql: insert }), { status: 500, body: { msg: "changed my mind" } });
      const count = async () =>
        Number((await sql("victim", "query", "SELECT count(*) AS n FROM items")).body.result[0].n);
      t.equal(await count(), 1);
      const held = host.call("evil", "hold", { sql: insert, ms: 6000 });
      t.match(await held, { status: 500, body: { msg: /transaction is over/ } });
      t.equal(await count(), 1);
      t.match(await sql("victim", "execute", insert), { status: 200 }, "the database can be written again");
    });

    if (type !== "postgresql") return;
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
  });
}
