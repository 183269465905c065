// Only in test:all: it starts many sandboxes, 18 s of a processor.
// In a process of its own: it waits for a database that others keep busy.
import t from "tap";
import { startPostgres } from "../../support/hub/postgres-server.ts";
import { inEachSetting, startAttacker } from "../../support/runtime/attacker.ts";

/** A plugin that may read a database must not end the runtime, or anybody else's work, with what it reads. */

const READS = {
  permissions: [
    { resource: "database:sqlite", actions: ["read"] },
    { resource: "database:postgresql", actions: ["read"] },
  ],
};
const query = (database: string, sql: string): string =>
  `return (await context.services.databases.${database}.query(${JSON.stringify(sql)})).length;`;

const ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT";
const ATTACKS = {
  sqlite: {
    "one value of 400 MB": "SELECT hex(zeroblob(200000000)) AS h",
    "one value of 60 MB": "SELECT hex(zeroblob(30000000)) AS h",
    "rows without end": `${ENDLESS} x FROM c`,
    "many large rows": `${ENDLESS} hex(zeroblob(100000)) AS h FROM c`,
    "wide rows": `SELECT ${Array.from({ length: 500 }, (_, i) => `zeroblob(50000000) AS c${i}`).join(", ")}`,
  },
  // A function in the select list sends its rows as they come; in FROM, PostgreSQL would write all of them to disk
  // first.
  postgresql: {
    "one value of 300 MB": "SELECT repeat('x', 300000000) AS h",
    "rows without end": "SELECT generate_series(1, 2000000000) AS x",
    "rows without columns": "SELECT FROM (SELECT generate_series(1, 2000000000)) AS endless",
    "many large rows": "SELECT repeat('x', 100000) AS h FROM generate_series(1, 100000)",
  },
};

const url = await startPostgres(t);
const databases = {
  sqlite: { type: "sqlite", url: "sqlite:main.db" },
  ...(url !== undefined && { postgresql: { type: "postgresql", url } }),
};
if (url === undefined) t.test("PostgreSQL", { skip: "PostgreSQL is not installed" }, () => undefined);

inEachSetting("a database's answer that is too large is refused where the query runs", async (t, setting) => {
  const host = await startAttacker(t, {
    setting,
    descriptor: { ...READS, resources: { timeout_seconds: 30, max_memory_mb: 512 } },
    configuration: { services: { databases } },
  });
  const before = process.memoryUsage.rss();
  let peak = before;
  const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 10);
  t.teardown(() => clearInterval(watch));
  for (const database of Object.keys(databases) as (keyof typeof ATTACKS)[]) {
    // The walls stand around the plugin, not around the database: a part of the attacks shows that there too.
    const attacks = Object.entries(ATTACKS[database]).slice(0, setting === "both" ? undefined : 1);
    for (const [name, sql] of attacks) {
      const outcome = await host.attack(query(database, sql));
      const said = JSON.stringify(outcome).slice(0, 200);
      t.match(outcome, { refused: "service_unavailable" }, `${database}, ${name}: ${said}`);
      t.equal(await host.result("victim", "alive"), "alive");
      t.match(await host.attack(query(database, "SELECT 1 AS one")), { done: 1 }, `the next query after ${name} works`);
    }
  }
  const megabytes = Math.round((peak - before) / 1024 / 1024);
  t.ok(megabytes < 150, `the runtime took ${megabytes} MB more at its peak`);
});

t.test("a query that never ends holds up no other plugin at that database", async (t) => {
  const host = await startAttacker(t, {
    descriptor: { ...READS, resources: { timeout_seconds: 30 } },
    configuration: { services: { databases: { sqlite: databases.sqlite } } },
  });
  await host.attack(query("sqlite", "SELECT 1"));
  const endless = host.attack(query("sqlite", `${ENDLESS} count(*) FROM c`));
  const started = performance.now();
  const health = await host.system("GET", "/plugin/ipc/health");
  t.match(health, { status: 200, body: { checks: { database: { status: "healthy" } } } });
  t.ok(performance.now() - started < 3000);
  t.match(await endless, { refused: "service_unavailable", message: /longer than 10 s/ });
});
