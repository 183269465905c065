import { spawn } from "node:child_process";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import t from "tap";
import { freePort } from "../../../support/free-port.ts";
import { startPostgresServer } from "../../../support/hub/postgres-server.ts";
import { needs, programFile } from "../../../support/programs/optional.ts";
import { actions, type Host, sandboxed, startHost, trusted } from "../../../support/runtime/host.ts";
import { until } from "../../../support/until.ts";

/** PostgreSQL and Redis, for real: servers of the test's own where their programs are installed. */

const ALL = { permissions: [{ resource: "*", actions: ["*"] }] };
const USER = actions(`
  sql: ({ method, sql, values }, { services }) => services.databases.main[method](sql, values),
  set: ({ key, value, ttl }, { services }) => services.cache.set(key, value, ttl),
  get: ({ key }, { services }) => services.cache.get(key),
  del: ({ key }, { services }) => services.cache.delete(key),
`);

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });

const checks = async (host: Host) =>
  (await host.system("GET", "/plugin/ipc/health")) as {
    status: number;
    body: { checks: Record<string, { status: string }> };
  };

t.test("plugins of both modes use PostgreSQL, and health sees it go", { skip: needs("initdb") }, async (t) => {
  const server = (await startPostgresServer(t))!;
  const host = await startHost(t, {
    plugins: { boxed: sandboxed("boxed", USER, ALL), inside: trusted("inside", USER, ALL) },
    configuration: { services: { databases: { main: { type: "postgresql", url: server.url } } } },
  });
  const sql = (plugin: string, method: string, text: string, values?: unknown[]) =>
    host.call(plugin, "sql", { method, sql: text, values });
  await sql("inside", "execute", "CREATE TABLE items (id serial PRIMARY KEY, name text)");
  for (const plugin of ["boxed", "inside"]) {
    t.match(
      await sql(plugin, "execute", "INSERT INTO items (name) VALUES ($1), ($2)", [plugin, "x'; DROP TABLE items; --"]),
      { status: 200, body: { result: { changes: 2 } } },
    );
    t.match(await sql(plugin, "execute", "INSERT INTO items (name) VALUES ($1) RETURNING name", ["back"]), {
      body: { result: { rows: [{ name: "back" }], changes: 1 } },
    });
    t.match(await sql(plugin, "query", "SELECT name FROM items WHERE name = $1", [plugin]), {
      status: 200,
      body: { result: [{ name: plugin }] },
    });
    for (const text of ["DELETE FROM items", "COMMIT; DELETE FROM items", "SELECT 1; DELETE FROM items"]) {
      t.match(await sql(plugin, "query", text), { status: 500, body: { code: "service_unavailable" } }, text);
    }
    await sql(plugin, "query", "COMMIT");
    t.match(await sql(plugin, "query", "DELETE FROM items"), { status: 500 }, "a reader stays a reader");
  }
  t.match(await sql("boxed", "query", "SELECT count(*)::int AS n FROM items"), { body: { result: [{ n: 6 }] } });
  t.match(await checks(host), { status: 200, body: { checks: { database: { status: "healthy" } } } });
  await server.stop();
  await until(async () => (await checks(host)).status === 503);
  t.match(await checks(host), {
    status: 503,
    body: { status: "unhealthy", checks: { database: { status: "unhealthy" } } },
  });
  t.match(await sql("boxed", "query", "SELECT 1"), { status: 500, body: { code: "service_unavailable" } });
});

t.test(
  "plugins of both modes use Redis, and health sees it go and come back",
  { skip: needs("redis-server") },
  async (t) => {
    const port = await freePort();
    const options = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
    const start = () => spawn(programFile("redis-server"), options, { stdio: "ignore", cwd: tmpdir() });
    let server = start();
    t.teardown(() => server.kill("SIGKILL"));
    await until(() => listens(port));
    const host = await startHost(t, {
      plugins: { boxed: sandboxed("boxed", USER, ALL), inside: trusted("inside", USER, ALL) },
      configuration: { services: { cache: { backend: "redis", url: `redis://127.0.0.1:${port}`, ttl: 60 } } },
    });
    for (const plugin of ["boxed", "inside"]) {
      await host.result(plugin, "set", { key: "a", value: { from: plugin } });
      t.same(await host.result(plugin, "get", { key: "a" }), { from: plugin }, "its own, under the same key");
      await host.result(plugin, "set", { key: "short", value: 1, ttl: 0.1 });
      await new Promise((resolve) => setTimeout(resolve, 150));
      t.equal(await host.result(plugin, "get", { key: "short" }), null);
      t.equal(await host.result(plugin, "del", { key: "a" }), true);
      t.equal(await host.result(plugin, "get", { key: "a" }), null);
    }
    t.match(await checks(host), { status: 200, body: { checks: { cache: { status: "healthy" } } } });
    server.kill("SIGKILL");
    await until(async () => (await checks(host)).status === 503);
    t.match(await host.call("boxed", "get", { key: "a" }), { status: 500, body: { code: "service_unavailable" } });
    server = start();
    await until(async () => (await checks(host)).status === 200, 20_000);
    t.equal(await host.result("boxed", "get", { key: "a" }), null);
  },
);
