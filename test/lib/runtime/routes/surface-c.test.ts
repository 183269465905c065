// Holds: which parts make a runtime unhealthy, and which degrade it (lib/runtime/lifecycle/health.ts)
import { connect } from "node:net";
import t from "tap";
import { healthAnswer, metricsAnswer, statusAnswer } from "../../../../lib/contract/surfaces/runtime.ts";
import { actions, KEY, sandboxed, startHost, trusted } from "../../../support/runtime/host.ts";

/** Each line of docs/contract/runtime.md, over HTTP. */

const ECHO = actions(`
  echo: (payload) => payload,
  nothing: () => undefined,
  load: () => "an action called load",
  reload: () => "an action called reload",
  unload: () => "an action called unload",
  fail: () => { throw new Error("it broke"); },
  reject: async () => { throw new TypeError("it broke later"); },
  circle: () => { const a = {}; a.a = a; return a; },
  bigint: () => 1n,
  func: () => () => 1,
`);

const ROUTES = [
  ["POST", "/plugin/ipc/echo/echo"],
  ["GET", "/plugin/ipc/status"],
  ["POST", "/plugin/ipc/echo/load"],
  ["POST", "/plugin/ipc/echo/reload"],
  ["DELETE", "/plugin/ipc/echo/unload"],
  ["GET", "/plugin/ipc/health"],
  ["GET", "/plugin/ipc/metrics"],
  ["GET", "/metrics"],
  ["POST", "/plugin/ipc/no/such"],
  ["GET", "/plugin/ipc"],
  ["GET", "/plugin/ipc/zz"],
  ["POST", "/plugin/ipc/w/%zz"],
] as const;

t.test("every IPC route and /metrics answer 401 without the key and with a wrong one", async (t) => {
  const host = await startHost(t, { plugins: { echo: trusted("echo", ECHO) } });
  for (const [method, path] of ROUTES) {
    const missing = await host.request(method, path);
    t.match(missing, { status: 401, body: { status: "error", code: "key_missing" } }, `${method} ${path}`);
    t.equal(missing.body.msg, missing.body.error);
    for (const key of ["wrong", `${KEY}x`, KEY.slice(1), KEY.slice(0, -1)]) {
      const wrong = await host.request(method, path, { headers: { "x-plugin-key": key } });
      t.match(wrong, { status: 401, body: { code: "key_rejected" } }, `${method} ${path} with ${key}`);
    }
  }
  t.equal((await host.status("echo")).state, "loaded", "nothing of it happened");
});

for (const [mode, make] of Object.entries({ trusted, sandboxed })) {
  t.test(`a ${mode} plugin's action is called with the payload and answers with its result`, async (t) => {
    const host = await startHost(t, { plugins: { echo: make("echo", ECHO) } });
    const payload = { text: "ünï €", list: [1, null, true] };
    const answer = await host.call("echo", "echo", payload);
    t.equal(answer.status, 200);
    t.same(answer.body, { status: "ok", plugin: "echo", action: "echo", result: payload });
    t.match(answer.headers.get("content-type"), /^application\/json/);
    t.same(await host.result("echo", "nothing"), null);
    t.same((await host.system("POST", "/plugin/ipc/echo/echo")).body.result, {}, "no body");
    t.same((await host.system("POST", "/plugin/ipc/echo/echo", "{}")).body.result, {}, "no payload");
  });

  t.test(`what a ${mode} plugin's action does wrong is a 500 with code and message`, async (t) => {
    const host = await startHost(t, { plugins: { echo: make("echo", ECHO) } });
    const expected = {
      fail: { code: "action_failed", msg: "it broke" },
      reject: { code: "action_failed", msg: "it broke later" },
      circle: { code: "result_not_serialisable" },
      bigint: { code: "result_not_serialisable" },
      func: { code: "result_not_serialisable" },
    };
    for (const [action, body] of Object.entries(expected)) {
      const answer = await host.call("echo", action);
      t.match(answer, { status: 500, body: { status: "error", ...body } }, action);
      t.equal(answer.body.error, answer.body.msg);
    }
  });

  t.test(`load, reload and unload win over actions of a ${mode} plugin of the same names`, async (t) => {
    const host = await startHost(t, { plugins: { echo: make("echo", ECHO) } });
    for (const word of ["load", "reload"]) {
      const answer = await host.system("POST", `/plugin/ipc/echo/${word}`, '{"payload":{}}');
      t.match(answer, { status: 200, body: { status: "ok", msg: /is / } });
      t.notOk("result" in answer.body, word);
    }
    t.match(await host.unload("echo"), { status: 200, body: { status: "ok", msg: "echo is unloaded" } });
    t.match(await host.status("echo"), { state: "idle", uptime_seconds: 0 });
    t.match(await host.call("echo", "echo"), { status: 404, body: { code: "not_loaded" } });
    t.match(await host.load("echo"), { status: 200 });
    t.equal((await host.call("echo", "echo")).status, 200);
  });
}

t.test("unknown plugins, actions and routes are 404", async (t) => {
  const host = await startHost(t, { plugins: { echo: trusted("echo", ECHO) } });
  t.match(await host.call("nobody", "echo"), { status: 404, body: { code: "plugin_not_found" } });
  t.match(await host.call("echo", "nothing-such"), { status: 404, body: { code: "action_not_found" } });
  for (const name of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
    t.match(await host.call("echo", name), { status: 404, body: { code: "action_not_found" } }, name);
    t.match(await host.call(name, "echo"), { status: 404, body: { code: "plugin_not_found" } }, name);
  }
  for (const word of ["load", "reload"]) {
    t.match(await host.system("POST", `/plugin/ipc/nobody/${word}`), {
      status: 404,
      body: { code: "plugin_not_found" },
    });
  }
  t.match(await host.unload("nobody"), { status: 404, body: { code: "plugin_not_found" } });
  t.match(await host.request("GET", "/plugin/nobody/items"), { status: 404, body: { code: "plugin_not_found" } });
  t.match(await host.request("GET", "/plugin/echo/items"), { status: 404, body: { code: "not_found" } });
  t.match(await host.request("GET", "/elsewhere"), { status: 404, body: { status: "error", code: "not_found" } });
  t.match(await host.system("GET", "/plugin/ipc/echo/echo"), { status: 404 }, "a call is a POST");
  t.match(await host.load("..%2f..%2fetc"), { status: 404, body: { code: "plugin_not_found" } });
});

t.test("bad JSON, a body of the wrong form and a body that is too large are 400, 400 and 413", async (t) => {
  const host = await startHost(t, {
    plugins: { echo: trusted("echo", ECHO) },
    configuration: { app: { server: { port: 0, body_limit: 2048 } } },
  });
  const post = (body: string, type = "application/json") =>
    host.request("POST", "/plugin/ipc/echo/echo", { body, headers: { "x-plugin-key": KEY, "content-type": type } });
  for (const body of ["{", "nonsense", '{"payload":', '{"a":1}}']) {
    t.match(await post(body), { status: 400, body: { code: "bad_json" } }, body);
  }
  t.match(await post("not json", "text/plain"), { status: 400, body: { code: "bad_json" } });
  t.match(await post('{"payload":{"a":1}}', "text/plain"), { status: 200, body: { result: { a: 1 } } });
  for (const body of ["[]", '"text"', "3"])
    t.match(await post(body), { status: 400, body: { code: "bad_request" } }, body);
  t.match(await post(JSON.stringify({ payload: "x".repeat(3000) })), {
    status: 413,
    body: { code: "payload_too_large" },
  });
});

t.test(
  "a plugin that is called more often than its rate limit allows answers 429 and says when to come back",
  async (t) => {
    const limited = sandboxed("limited", ECHO, { resources: { rate_limit: { calls: 3, period_seconds: 60 } } });
    const host = await startHost(t, {
      plugins: {
        limited,
        other: trusted("other", ECHO, { resources: { rate_limit: { calls: 2, period_seconds: 1 } } }),
      },
    });
    for (let call = 0; call < 3; call++) t.equal((await host.call("limited", "echo")).status, 200);
    const refused = await host.call("limited", "echo");
    t.match(refused, { status: 429, body: { code: "rate_limited" } });
    t.ok(Number(refused.headers.get("retry-after")) >= 1);
    const statuses = await Promise.all([1, 2, 3].map(() => host.call("other", "echo")));
    t.same(
      statuses.map(({ status }) => status),
      [200, 200, 429],
      "another plugin has a limit of its own",
    );
  },
);

for (const mode of ["trusted", "sandboxed"] as const)
  t.test(`a body with too many values for a ${mode} plugin is 413, and its descriptor may take more`, async (t) => {
    const source = actions("count: (payload) => payload.x.length");
    const make = mode === "trusted" ? trusted : sandboxed;
    const host = await startHost(t, {
      plugins: { few: make("few", source), many: make("many", source, { runtime: { max_body_values: 300_000 } }) },
    });
    const x = Array.from({ length: 150_000 }, () => ({}));
    const refused = await host.call("few", "count", { x });
    t.match(refused, { status: 413, body: { code: "payload_too_complex" } });
    t.match(refused.body.msg, /more than 100000 JSON values.*runtime\.max_body_values/);
    t.equal(await host.result("many", "count", { x }), 150_000);
    t.equal(await host.result("few", "count", { x: x.slice(0, 90_000) }), 90_000);
    t.equal((await host.call("many", "count", { x: [...x, ...x, ...x] })).status, 413);
  });

t.test("status lists every plugin found on disk, also those that failed, in the form of the contract", async (t) => {
  const host = await startHost(t, {
    plugins: {
      good: trusted("good", ECHO),
      boxed: sandboxed("boxed", ECHO),
      broken: trusted("broken", "this is not JavaScript"),
      _skipped: trusted("skipped", ECHO),
      nonsense: { descriptor: "name: [", files: {} },
    },
  });
  host.install("late", trusted("late", ECHO));
  const { status, body } = await host.system("GET", "/plugin/ipc/status");
  t.equal(status, 200);
  const { plugins, count } = statusAnswer.parse(body);
  t.equal(count, 5);
  t.match(Object.fromEntries(plugins.map((plugin) => [plugin.name, plugin])), {
    good: { mode: "trusted", state: "loaded", version: "1.0.0" },
    boxed: { mode: "sandboxed", state: "loaded", pid: Number, restarts: 0 },
    broken: { state: "error", error_code: "load_failed", error: String },
    nonsense: { state: "error", version: null, mode: null, error_code: "descriptor_invalid" },
    late: { state: "idle", uptime_seconds: 0 },
  });
  t.ok((plugins.find(({ name }) => name === "good")?.uptime_seconds ?? 0) > 0);
});

t.test("health covers database, cache and each plugin", async (t) => {
  const host = await startHost(t, {
    plugins: { good: trusted("good", ECHO), boxed: sandboxed("boxed", ECHO) },
    configuration: { services: { databases: { main: { type: "sqlite", url: "sqlite:main.db" } } } },
  });
  const { status, body } = await host.system("GET", "/plugin/ipc/health");
  t.equal(status, 200);
  const health = healthAnswer.parse(body);
  t.equal(health.status, "healthy");
  t.match(health.checks, {
    database: { status: "healthy", message: "ok", duration_ms: Number },
    cache: { status: "healthy" },
    "plugin:good": { status: "healthy" },
    "plugin:boxed": { status: "healthy" },
  });
});

t.test("health is degraded with a failed plugin, and unhealthy with 503 with a failed database or cache", async (t) => {
  const sick = `export default { actions: {}, healthCheck: () => ({ status: "degraded", message: "low on coffee" }) };`;
  const host = await startHost(t, { plugins: { sick: sandboxed("sick", sick), bad: trusted("bad", "throw 1") } });
  t.match(await host.system("GET", "/plugin/ipc/health"), {
    status: 200,
    body: {
      status: "degraded",
      checks: {
        "plugin:bad": { status: "unhealthy" },
        "plugin:sick": { status: "degraded", message: "low on coffee" },
      },
    },
  });
  const down = await startHost(t, {
    configuration: { services: { databases: { gone: { type: "postgresql", url: "postgres://127.0.0.1:1/x" } } } },
  });
  t.match(await down.system("GET", "/plugin/ipc/health"), {
    status: 503,
    body: { status: "unhealthy", checks: { database: { status: "unhealthy", message: /^gone: / } } },
  });
  const uncached = await startHost(t, {
    configuration: { services: { cache: { backend: "redis", url: "redis://127.0.0.1:1" } } },
  });
  t.match(await uncached.system("GET", "/plugin/ipc/health"), {
    ...{ status: 503, body: { status: "unhealthy", checks: { cache: { status: "unhealthy" } } } },
  });
});

t.test("metrics are one set of numbers, as a JSON snapshot and as Prometheus text", async (t) => {
  const host = await startHost(t, { plugins: { echo: trusted("echo", ECHO), boxed: sandboxed("boxed", ECHO) } });
  await host.call("echo", "echo");
  await host.call("echo", "echo");
  await host.call("echo", "fail");
  await host.call("boxed", "echo");
  const { body } = await host.system("GET", "/plugin/ipc/metrics");
  const { counters, gauges, histograms } = metricsAnswer.parse(body);
  t.equal(counters['sealift_calls_total{plugin="echo",action="echo",outcome="ok"}'], 2);
  t.equal(counters['sealift_calls_total{plugin="echo",action="fail",outcome="action_failed"}'], 1);
  t.equal(gauges['sealift_plugins{state="loaded"}'], 2);
  t.equal(gauges['sealift_plugin_generations{plugin="echo"}'], 1);
  t.ok((gauges['sealift_plugin_generation_bytes{plugin="echo"}'] ?? 0) >= ECHO.length);
  t.match(histograms['sealift_call_duration_seconds{plugin="echo"}'], { count: 3, buckets: { "+Inf": 3 } });
  const text = await host.system("GET", "/metrics");
  t.match(text.headers.get("content-type"), /^text\/plain/);
  t.match(text.text, 'sealift_calls_total{plugin="echo",action="echo",outcome="ok"} 2');
  t.match(text.text, 'sealift_plugins{state="loaded"} 2');
  t.match(text.text, 'sealift_call_duration_seconds_bucket{le="+Inf",plugin="echo"} 3');
});

t.test("/metrics takes the key as a bearer token, too, and no other route does", async (t) => {
  const host = await startHost(t);
  const bearing = (path: string, key: string) =>
    host.request("GET", path, { headers: { authorization: `Bearer ${key}` } });
  t.equal((await bearing("/metrics", KEY)).status, 200);
  t.match(await bearing("/metrics", "wrong"), { status: 401, body: { code: "key_rejected" } });
  t.match(await bearing("/metrics", ""), { status: 401, body: { code: "key_missing" } });
  t.match(await bearing("/plugin/ipc/metrics", KEY), { status: 401, body: { code: "key_missing" } });
});

t.test("/metrics is open only where the configuration says so, and /healthz needs no key", async (t) => {
  const host = await startHost(t, { configuration: { observability: { metrics: { open: true } } } });
  t.equal((await host.request("GET", "/metrics")).status, 200);
  t.equal((await host.request("GET", "/plugin/ipc/metrics")).status, 401, "the snapshot is not opened with it");
  t.match(await host.request("GET", "/healthz"), { status: 200, body: { status: "ok" } });
});

t.test("every answer carries a request id: the caller's own when it is a plain word", async (t) => {
  const host = await startHost(t, {
    plugins: { echo: trusted("echo", actions(`id: (payload, context) => context.requestId`)) },
  });
  const named = await host.request("POST", "/plugin/ipc/echo/id", {
    headers: { "x-plugin-key": KEY, "x-request-id": "abc-1" },
  });
  t.equal(named.headers.get("x-request-id"), "abc-1");
  t.equal(named.body.result, "abc-1", "the plugin sees the same");
  const other = await host.request("GET", "/nowhere", { headers: { "x-request-id": "a b;c" } });
  t.match(other.headers.get("x-request-id"), /^[A-Za-z0-9_-]+$/);
});

t.test("the prefix is configurable", async (t) => {
  const host = await startHost(t, {
    plugins: { echo: trusted("echo", ECHO) },
    configuration: { app: { plugin_prefix: "/addons" } },
  });
  t.equal((await host.system("GET", "/addons/ipc/status")).status, 200);
  t.equal((await host.system("GET", "/plugin/ipc/status")).status, 404);
});

t.test("requests that no route gets have the contract's body too", async (t) => {
  const configuration = { app: { server: { port: 0, request_seconds: 1 } } };
  const host = await startHost(t, { plugins: { echo: trusted("echo", ECHO) }, configuration });
  /** Sends bytes, and returns status and body of the answer once the runtime has closed the connection. */
  const raw = async (text: string): Promise<[number, unknown]> => {
    const { hostname, port } = new URL(host.url);
    let answer = "";
    const socket = connect(Number(port), hostname, () => socket.write(text));
    for await (const chunk of socket) answer += String(chunk);
    const [head = "", body = ""] = answer.split("\r\n\r\n");
    return [Number(head.split(" ")[1]), JSON.parse(body)];
  };
  const refused = { status: "error", code: "bad_request" };
  t.match(await host.system("POST", "/plugin/ipc/w/%zz"), { status: 400, body: refused });
  t.match(await host.request("GET", "/plugin/x/%"), { status: 400, body: refused });
  t.match(await host.system("GET", "/plugin/ipc/zz"), { status: 404, body: { code: "not_found" } });
  const wide = `GET / HTTP/1.1\r\nHost: a\r\nX-Wide: ${"x".repeat(20_000)}\r\n\r\n`;
  t.match(await raw(wide), [431, refused]);
  t.match(await raw("NONSENSE\r\n\r\n"), [400, refused]);
  const stopped = `POST /plugin/ipc/echo/echo HTTP/1.1\r\nHost: a\r\nX-Plugin-Key: ${KEY}\r\nContent-Length: 9\r\n\r\n{`;
  t.match(await raw(stopped), [408, refused], "a body that stops ends the request");
  const headers = { "x-plugin-key": KEY, "content-type": ";;;" };
  const odd = await host.request("POST", "/plugin/ipc/echo/echo", { headers, body: '{"payload":1}' });
  t.match(odd, { status: 200, body: { result: 1 } }, "whatever the content type says");
});
