import t, { type Test } from "tap";
import { startPostgres } from "../../support/hub/postgres-server.ts";
import { startAttacker } from "../../support/runtime/attacker.ts";

/** A plugin that may read a database must not end the runtime, or anybody else's work, with what it reads. */

const READS = { permissions: [{ resource: "database:main", actions: ["read"] }] };
const query = (sql: string): string =>
  `return (await context.services.databases.main.query(${JSON.stringify(sql)})).length;`;

async function withstands(t: Test, database: { type: string; url: string }, attacks: Record<string, string>) {
  const host = await startAttacker(t, {
    descriptor: { ...READS, resources: { timeout_seconds: 30, max_memory_mb: 512 } },
    configuration: { services: { databases: { main: database } } },
  });
  const before = process.memoryUsage.rss();
  let peak = before;
  const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 10);
  t.teardown(() => clearInterval(watch));
  for (const [name, sql] of Object.entries(attacks)) {
    const outcome = await host.attack(query(sql));
    t.match(outcome, { refused: "service_unavailable" }, `${name}: ${JSON.stringify(outcome).slice(0, 200)}`);
    t.equal(await host.result("victim", "alive"), "alive");
    t.match(await host.attack(query("SELECT 1 AS one")), { done: 1 }, `the next query after ${name} works`);
  }
  const megabytes = Math.round((peak - before) / 1024 / 1024);
  t.ok(megabytes < 150, `the runtime took ${megabytes} MB more at its peak`);
}

t.test("an answer of SQLite that is too large is refused where the query runs", (t) =>
  withstands(
    t,
    { type: "sqlite", url: "sqlite:main.db" },
    {
      "one value of 400 MB": "SELECT hex(zeroblob(200000000)) AS h",
      "one value of 60 MB": "SELECT hex(zeroblob(30000000)) AS h",
      "rows without end": "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c",
      "many large rows":
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT hex(zeroblob(100000)) AS h FROM c",
      "wide rows": `SELECT ${Array.from({ length: 500 }, (_, i) => `zeroblob(50000000) AS c${i}`).join(", ")}`,
    },
  ),
);

const url = await startPostgres(t);
t.test(
  "an answer of PostgreSQL that is too large is cut off",
  { skip: url === undefined && "PostgreSQL is not installed" },
  (t) =>
    withstands(
      t,
      { type: "postgresql", url: url! },
      // A function in the select list sends its rows as they come; in FROM, PostgreSQL would write all of them to disk
      // first.
      {
        "one value of 300 MB": "SELECT repeat('x', 300000000) AS h",
        "rows without end": "SELECT generate_series(1, 2000000000) AS x",
        "rows without columns": "SELECT FROM (SELECT generate_series(1, 2000000000)) AS endless",
        "many large rows": "SELECT repeat('x', 100000) AS h FROM generate_series(1, 100000)",
      },
    ),
);

t.test("a query that never ends holds up no other plugin at that database", async (t) => {
  const host = await startAttacker(t, {
    descriptor: { ...READS, resources: { timeout_seconds: 30 } },
    configuration: { services: { databases: { main: { type: "sqlite", url: "sqlite:main.db" } } } },
    plugins: {},
  });
  await host.attack(query("SELECT 1"));
  const endless = host.attack(
    query("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"),
  );
  const started = performance.now();
  const health = await host.system("GET", "/plugin/ipc/health");
  t.match(health, { status: 200, body: { checks: { database: { status: "healthy" } } } });
  t.ok(performance.now() - started < 3000);
  t.match(await endless, { refused: "service_unavailable", message: /longer than 10 s/ });
});
