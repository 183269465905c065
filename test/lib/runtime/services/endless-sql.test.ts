// Only in test:all: it waits for the ten seconds of a statement, with a busy processor.
import t from "tap";
import { actions, sandboxed, startHost } from "../../../support/runtime/host.ts";

const QUERY = actions("query: ({ sql }, { services }) => services.databases.main.query(sql),");

t.test("a SQL statement that never ends is given up, and the database and the runtime go on", async (t) => {
  const host = await startHost(t, {
    plugins: {
      user: sandboxed("user", QUERY, {
        permissions: [{ resource: "*", actions: ["*"] }],
        resources: { timeout_seconds: 15 },
      }),
    },
    configuration: { services: { databases: { main: { type: "sqlite", url: "sqlite:db/main.sqlite" } } } },
  });
  const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
  const stuck = host.call("user", "query", { sql: endless });
  await new Promise((resolve) => setTimeout(resolve, 200));
  const started = performance.now();
  t.equal((await host.request("GET", "/healthz")).status, 200);
  t.ok(performance.now() - started < 500, "the runtime answers meanwhile");
  t.match(await stuck, { status: 500, body: { code: "service_unavailable", msg: /longer than/ } });
  t.same(await host.result("user", "query", { sql: "SELECT 1 AS one" }), [{ one: 1 }]);
});
