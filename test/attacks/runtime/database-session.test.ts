import t, { type Test } from "tap";
import { startPostgres } from "../../support/hub/postgres-server.ts";
import { actions, sandboxed, startHost } from "../../support/runtime/host.ts";

/** What one plugin does to its database session must not reach another plugin, or its own next call. */

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

async function plugins(t: Test, database: { type: string; url: string }) {
  const host = await startHost(t, {
    plugins: { evil: sandboxed("evil", USER, ALL), victim: sandboxed("victim", USER, ALL) },
    configuration: { services: { databases: { main: database } } },
  });
  const sql = (plugin: string, method: "query" | "execute", text: string) =>
    host.call(plugin, "sql", { method, sql: text });
  await sql("victim", "execute", "DROP TABLE IF EXISTS items");
  await sql("victim", "execute", "CREATE TABLE items (name text)");
  return { host, sql };
}

const url = await startPostgres(t);
const databases: Record<string, { type: string; url: string | undefined }> = {
  SQLite: { type: "sqlite", url: "sqlite:main.db" },
  "SQLite in memory": { type: "sqlite", url: ":memory:" },
  PostgreSQL: { type: "postgresql", url },
};

for (const [name, { type, url }] of Object.entries(databases)) {
  const skip = url === undefined && "PostgreSQL is not installed";
  const database = { type, url: url ?? "" };

  t.test(
    `${name}: a BEGIN of one plugin takes nothing of another with it when it is rolled back`,
    { skip },
    async (t) => {
      const { sql } = await plugins(t, database);
      await sql("evil", "execute", "BEGIN");
      t.match(await sql("victim", "execute", "INSERT INTO items (name) VALUES ('kept')"), {
        status: 200,
        body: { result: { changes: 1 } },
      });
      await sql("evil", "execute", "ROLLBACK");
      await sql("evil", "query", "ROLLBACK");
      t.match(await sql("victim", "query", "SELECT name FROM items"), { body: { result: [{ name: "kept" }] } });
    },
  );

  t.test(`${name}: a BEGIN of a reader pins no old state for the others`, { skip }, async (t) => {
    const { sql } = await plugins(t, database);
    await sql("evil", "query", "BEGIN");
    await sql("evil", "query", "SELECT * FROM items");
    await sql("victim", "execute", "INSERT INTO items (name) VALUES ('new')");
    t.match(await sql("evil", "query", "SELECT name FROM items"), { body: { result: [{ name: "new" }] } });
    t.match(await sql("victim", "query", "SELECT name FROM items"), { body: { result: [{ name: "new" }] } });
  });

  t.test(`${name}: temporary objects end with their statement`, { skip }, async (t) => {
    const { sql } = await plugins(t, database);
    await sql("victim", "execute", "INSERT INTO items (name) VALUES ('real')");
    await sql("evil", "execute", "CREATE TEMP TABLE items (name text)");
    for (let round = 0; round < 12; round++) {
      t.match(await sql("victim", "query", "SELECT name FROM items"), { body: { result: [{ name: "real" }] } });
    }
  });

  t.test(
    `${name}: a transaction is committed, rolled back, and given up when it takes too long`,
    { skip },
    async (t) => {
      const { host, sql } = await plugins(t, database);
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
    },
  );
}

t.test(
  "PostgreSQL: what a plugin SETs is gone with its statement",
  { skip: url === undefined && "PostgreSQL is not installed" },
  async (t) => {
    const { sql } = await plugins(t, { type: "postgresql", url: url! });
    for (const [method, text] of [
      ["execute", "SET search_path TO nope"],
      ["query", "SELECT set_config('search_path', 'nope', false)"],
      ["execute", "SET statement_timeout TO 0"],
      ["execute", "SET ROLE pg_monitor"],
      ["query", "SELECT pg_advisory_lock(7)"],
    ] as const) {
      t.match(await sql("evil", method, text), { status: 200 }, text);
      for (let round = 0; round < 12; round++) {
        t.match(
          await sql("victim", "query", "SELECT count(*)::int AS n FROM items"),
          { body: { result: [{ n: 0 }] } },
          text,
        );
      }
    }
    t.match(await sql("victim", "query", "SHOW statement_timeout"), {
      body: { result: [{ statement_timeout: "10s" }] },
    });
    t.match(await sql("victim", "query", "SELECT current_user AS me"), { body: { result: [{ me: "hub" }] } });
    t.match(await sql("victim", "query", "SELECT pg_try_advisory_lock(7) AS free"), {
      body: { result: [{ free: true }] },
    });
  },
);
