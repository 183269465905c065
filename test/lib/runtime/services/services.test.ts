import { existsSync } from "node:fs";
import t from "tap";
import { actions, type PluginSource, sandboxed, startHost, trusted } from "../../../support/runtime/host.ts";
import { until } from "../../../support/until.ts";

/** Services, events and calls between plugins: the same for both modes, and obeying permissions for both. */

const ALL = { permissions: [{ resource: "*", actions: ["*"] }] };

const USER = actions(
  `
  sql: ({ method, sql, values }, { services }) => services.databases.main[method](sql, values),
  set: ({ key, value, ttl }, { services }) => services.cache.set(key, value, ttl),
  get: ({ key }, { services }) => services.cache.get(key),
  del: ({ key }, { services }) => services.cache.delete(key),
  extension: ({ name, method, values }, { services }) => services.extensions[name][method](...values),
  emit: ({ event, payload }, { events }) => events.emit(event, payload),
  heard: () => heard,
  call: ({ plugin, action, payload }, { call }) => call(plugin, action, payload),
  code: async ({ plugin, action }, { call }) => { try { return await call(plugin, action); } catch (error) { return error.code; } },
  recurse: ({ depth }, { call, plugin }) => call(plugin.name, "recurse", { depth: depth + 1 }),
  fail: () => { throw new Error("on purpose"); },
  names: (_payload, { services }) => [Object.keys(services.databases), Object.keys(services.extensions)],
`,
  `const heard = [];`,
).replace(
  "export default {",
  "export default { onLoad: ({ events }) => { events.on('news', (payload, source) => heard.push([payload, source])); },",
);

const modes: Record<string, (name: string, source: string, extra?: Record<string, unknown>) => PluginSource> = {
  trusted,
  sandboxed,
};
const DATABASE = { services: { databases: { main: { type: "sqlite", url: "sqlite:db/main.sqlite" } } } };

for (const [mode, make] of Object.entries(modes)) {
  t.test(`a ${mode} plugin uses a SQLite database: parameters, rows, changes, errors`, async (t) => {
    const host = await startHost(t, { plugins: { user: make("user", USER, ALL) }, configuration: DATABASE });
    const sql = (method: string, text: string, values?: unknown[]) =>
      host.result("user", "sql", { method, sql: text, values });
    await sql("execute", "CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, data BLOB)");
    t.same(await sql("execute", "INSERT INTO items (name) VALUES (?), (?)", ["one", "two'; DROP TABLE items"]), {
      rows: [],
      changes: 2,
    });
    t.same(await sql("query", "SELECT id, name FROM items WHERE id > ? ORDER BY id", [1]), [
      { id: 2, name: "two'; DROP TABLE items" },
    ]);
    t.match(await sql("execute", "INSERT INTO items (name) VALUES (?) RETURNING id", ["three"]), { rows: [{ id: 3 }] });
    t.match(await host.call("user", "sql", { method: "query", sql: "nonsense" }), {
      status: 500,
      body: { code: "service_unavailable", msg: /syntax/ },
    });
    t.match(await host.call("user", "sql", { method: "query", sql: "DELETE FROM items" }), {
      status: 500,
      body: { msg: /readonly|read-only/ },
    });
    t.same(await sql("query", "SELECT count(*) AS n FROM items"), [{ n: 3 }]);
    t.ok(existsSync(host.path("db/main.sqlite")));
    t.same(await host.result("user", "names"), [["main"], []]);
  });

  t.test(`a ${mode} plugin's SQL does not reach beyond its database`, async (t) => {
    const host = await startHost(t, { plugins: { user: make("user", USER, ALL) }, configuration: DATABASE });
    for (const text of [
      `ATTACH '${host.path("other.sqlite")}' AS other`,
      `VACUUM INTO '${host.path("copy.sqlite")}'`,
      "PRAGMA journal_mode = DELETE",
      "SELECT load_extension('/tmp/x.so')",
    ]) {
      t.match(
        await host.call("user", "sql", { method: "execute", sql: text }),
        { status: 500, body: { msg: /not authorized|denied/ } },
        text,
      );
    }
    t.notOk(existsSync(host.path("other.sqlite")) || existsSync(host.path("copy.sqlite")));
  });

  t.test(`a ${mode} plugin's cache entries are its own, and live as long as they should`, async (t) => {
    const plugins = { user: make("user", USER, ALL), other: make("other", USER, ALL) };
    const host = await startHost(t, { plugins, configuration: { services: { cache: { ttl: 60, max_size: 3 } } } });
    await host.result("user", "set", { key: "a", value: { deep: [1] } });
    t.same(await host.result("user", "get", { key: "a" }), { deep: [1] });
    t.equal(await host.result("other", "get", { key: "a" }), null, "another plugin does not see it");
    await host.result("user", "set", { key: "short", value: 1, ttl: 0.05 });
    await new Promise((resolve) => setTimeout(resolve, 80));
    t.equal(await host.result("user", "get", { key: "short" }), null);
    t.equal(await host.result("user", "del", { key: "a" }), true);
    t.equal(await host.result("user", "del", { key: "a" }), false);
    for (const key of ["1", "2", "3", "4"]) await host.result("user", "set", { key, value: key });
    t.equal(await host.result("user", "get", { key: "1" }), null, "the least recently used went first");
    t.equal(await host.result("user", "get", { key: "4" }), "4");
  });

  t.test(`a ${mode} plugin reaches extensions by name, with their configuration`, async (t) => {
    const host = await startHost(t, {
      plugins: { user: make("user", USER, ALL) },
      files: {
        "extensions/geo/src/main.mjs": `export default ({ config }) => ({ near: async (place) => config.prefix + place, fail: () => { throw new Error("lost"); }, close() {} });`,
        "extensions/plain/index.cjs": `exports.twice = (n) => n * 2;`,
      },
      configuration: {
        services: {
          extensions: {
            geo: { module: "geo", config: { prefix: "near " } },
            plain: { module: "extensions/plain/index.cjs" },
            gone: { module: "absent" },
          },
        },
      },
    });
    const call = (name: string, method: string, ...values: unknown[]) =>
      host.call("user", "extension", { name, method, values });
    t.match(await call("geo", "near", "Oslo"), { status: 200, body: { result: "near Oslo" } });
    t.match(await call("plain", "twice", 21), { status: 200, body: { result: 42 } });
    t.match(await call("geo", "fail"), { status: 500, body: { code: "service_unavailable", msg: "lost" } });
    for (const method of ["absent", "close", "constructor", "__proto__", "toString"]) {
      t.match(await call("geo", method), { status: 500, body: { code: "service_unavailable" } }, method);
    }
    t.match(await call("gone", "x"), { status: 500, body: { code: "service_unavailable", msg: /not loaded/ } });
  });

  t.test(
    `a ${mode} plugin that uses a service which the configuration lacks is told which, and what there is`,
    async (t) => {
      const host = await startHost(t, { plugins: { user: make("user", USER, ALL) } });
      t.match(await host.call("user", "sql", { method: "query", sql: "SELECT 1", values: [] }), {
        status: 500,
        body: {
          code: "service_unavailable",
          msg: "The configuration has no database main: add it to services.databases of integration.yaml. It has none.",
        },
      });
      t.match(await host.call("user", "extension", { name: "geo", method: "near", values: [] }), {
        body: { msg: /no extension geo: add it to services\.extensions/ },
      });
      t.same(await host.result("user", "names"), [[], []], "it can be asked before");
    },
  );

  t.test(`events reach every listener of every ${mode} plugin, and none after an unload`, async (t) => {
    const plugins = {
      user: make("user", USER, ALL),
      other: make("other", USER, ALL),
      deaf: make("deaf", USER, { permissions: [{ resource: "events", actions: ["listen"], effect: "deny" }] }),
    };
    const host = await startHost(t, { plugins });
    await host.result("user", "emit", { event: "news", payload: { n: 1 } });
    await until(async () => ((await host.result("other", "heard")) as unknown[]).length === 1);
    t.same(await host.result("other", "heard"), [[{ n: 1 }, "user"]]);
    t.same(await host.result("user", "heard"), [[{ n: 1 }, "user"]]);
    t.same(await host.result("deaf", "heard"), []);
    await host.reload("other");
    await host.unload("user");
    await host.load("user");
    await host.result("user", "emit", { event: "news", payload: 2 });
    await until(async () => ((await host.result("other", "heard")) as unknown[]).length === 1);
    t.same(await host.result("other", "heard"), [[2, "user"]], "the replaced instance is not asked any more");
  });

  t.test(`a ${mode} plugin calls others through the runtime, and gets their errors with their codes`, async (t) => {
    const host = await startHost(t, {
      plugins: {
        user: make("user", USER, ALL),
        boxed: sandboxed("boxed", USER, ALL),
        inside: trusted("inside", USER, ALL),
      },
    });
    for (const plugin of ["boxed", "inside"]) {
      t.match(await host.call("user", "call", { plugin, action: "names" }), {
        status: 200,
        body: { result: [[], []] },
      });
      t.equal(await host.result("user", "code", { plugin, action: "fail" }), "action_failed");
      t.equal(await host.result("user", "code", { plugin, action: "absent" }), "action_not_found");
    }
    t.equal(await host.result("user", "code", { plugin: "absent", action: "x" }), "plugin_not_found");
    t.match(
      await host.call("user", "call", { plugin: "absent", action: "x" }),
      { status: 500, body: { code: "action_failed", msg: /absent/ } },
      "the caller's 404 would be a lie",
    );
    t.match(await host.call("user", "recurse", { depth: 0 }), { status: 500, body: { code: "call_too_deep" } });
  });
}

t.test("a sandboxed plugin needs a permission for everything, and a rule that denies wins", async (t) => {
  const permissions = [
    { resource: "database:main", actions: ["read"] },
    { resource: "cache", actions: ["get", "set"] },
    { resource: "plugin:*", actions: ["*"] },
    { resource: "plugin:secret", actions: ["*"], effect: "deny" },
  ];
  const host = await startHost(t, {
    plugins: {
      user: sandboxed("user", USER, { permissions }),
      secret: trusted("secret", USER),
      open: trusted("open", USER),
    },
    configuration: DATABASE,
  });
  const denied = { status: 500, body: { code: "permission_denied" } };
  t.match(await host.call("user", "sql", { method: "query", sql: "SELECT 1 AS one" }), { status: 200 });
  t.match(await host.call("user", "sql", { method: "execute", sql: "CREATE TABLE t (a)" }), denied);
  t.match(await host.call("user", "set", { key: "a", value: 1 }), { status: 200 });
  t.match(await host.call("user", "del", { key: "a" }), denied);
  t.match(await host.call("user", "emit", { event: "x" }), denied);
  t.match(await host.call("user", "call", { plugin: "open", action: "names" }), { status: 200 });
  t.match(await host.call("user", "call", { plugin: "secret", action: "names" }), denied);
});

t.test("a trusted plugin that names permissions keeps to them", async (t) => {
  const host = await startHost(t, {
    plugins: {
      user: trusted("user", USER, { permissions: [{ resource: "plugin:open", actions: ["names"] }] }),
      open: trusted("open", USER),
      other: trusted("other", USER),
    },
  });
  t.match(await host.call("user", "call", { plugin: "open", action: "names" }), { status: 200 });
  t.match(await host.call("user", "call", { plugin: "open", action: "heard" }), {
    status: 500,
    body: { code: "permission_denied" },
  });
  t.match(await host.call("user", "call", { plugin: "other", action: "names" }), {
    status: 500,
    body: { code: "permission_denied" },
  });
  t.match(await host.call("user", "set", { key: "a", value: 1 }), { status: 200 }, "what it does not name stays open");
});

t.test("scheduled jobs call their action at their interval, and a failing one is logged and goes on", async (t) => {
  const host = await startHost(t, {
    plugins: {
      worker: trusted(
        "worker",
        actions(
          `tick: ({ by }) => { n += by; if (n === 2) throw new Error("a bad day"); }, count: () => n`,
          "let n = 0;",
        ),
      ),
    },
    configuration: {
      services: {
        scheduler: {
          jobs: [{ name: "ticker", plugin: "worker", action: "tick", payload: { by: 1 }, interval_seconds: 0.1 }],
        },
      },
    },
  });
  await until(async () => (await host.result("worker", "count")) >= 4);
  t.ok(host.logs.some(({ msg, job }) => job === "ticker" && msg === "a scheduled job failed"));
});

t.test(
  "health tells of an extension that does not load, and a refresh takes up its mended or newer code",
  async (t) => {
    const configuration = { services: { extensions: { geo: { module: "geo/main.mjs" }, late: { module: "late" } } } };
    const host = await startHost(t, {
      plugins: { user: sandboxed("user", USER, ALL) },
      files: { "extensions/geo/main.mjs": "export const version = () => 1;" },
      configuration,
    });
    const version = (name: string) => host.result("user", "extension", { name, method: "version", values: [] });
    t.equal(await version("geo"), 1);
    t.match(await host.system("GET", "/plugin/ipc/health"), {
      status: 200,
      body: {
        status: "degraded",
        checks: { "extension:geo": { status: "healthy" }, "extension:late": { status: "unhealthy" } },
      },
    });
    host.write("extensions/geo/main.mjs", "export const version = () => 2;");
    host.write("extensions/late/index.js", "exports.version = () => 3;");
    host.write("extensions/late/package.json", "{}");
    await host.runtime.refresh();
    t.equal(await version("geo"), 2);
    t.equal(await version("late"), 3);
    t.match((await host.system("GET", "/plugin/ipc/health")).body, { status: "healthy" });
  },
);
