import fc from "fast-check";
import t from "tap";
import { descriptor } from "../../../lib/contract/files/descriptor.ts";
import { isPermitted } from "../../../lib/runtime/calls/permissions.ts";
import { RateLimit } from "../../../lib/runtime/calls/rate-limit.ts";
import { loadOrder } from "../../../lib/runtime/catalogue/load-order.ts";
import { encodeFrame, FrameError, FrameReader } from "../../../lib/runtime/guest/frames.ts";
import { cleanJson, parseJson, serialiseResult } from "../../../lib/runtime/guest/json.ts";
import { sandboxLaunch } from "../../../lib/runtime/sandbox/launch.ts";
import { RestartPolicy } from "../../../lib/runtime/sandbox/restart-policy.ts";
import { MemoryCache } from "../../../lib/runtime/services/cache-memory.ts";
import { parseCron } from "../../../lib/runtime/services/cron.ts";
import { sqlitePath } from "../../../lib/runtime/services/sqlite.ts";

/** What is decided without a process or a socket. */

t.test("frames survive any cutting of their stream", (t) => {
  const frames = fc.array(fc.tuple(fc.string({ unit: "binary" }), fc.string({ unit: "binary", maxLength: 3000 })), {
    maxLength: 10,
  });
  fc.assert(
    fc.property(frames, fc.array(fc.nat(500), { minLength: 1 }), (contents, sizes) => {
      const stream = Buffer.concat(contents.map(([note, body]) => encodeFrame({ t: "x", note }, body)));
      const reader = new FrameReader();
      const read: [unknown, string][] = [];
      for (let at = 0, turn = 0; at < stream.length; turn++) {
        const size = 1 + (sizes[turn % sizes.length] ?? 0);
        for (const { header, body } of reader.push(stream.subarray(at, at + size))) read.push([header["note"], body]);
        at += size;
      }
      const sent = contents.map(([note, body]) => [
        JSON.parse(JSON.stringify(note)) as unknown,
        Buffer.from(body).toString(),
      ]);
      return JSON.stringify(read) === JSON.stringify(sent);
    }),
  );
  t.end();
});

t.test("any other bytes are a FrameError or wait for more, and never anything else", (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        for (const { header } of new FrameReader().push(Buffer.from(bytes)))
          if (typeof header.t !== "string") return false;
        return true;
      } catch (error) {
        return error instanceof FrameError;
      }
    }),
  );
  t.end();
});

t.test("parsed JSON has no key that pollutes, and is otherwise what was written", (t) => {
  const polluting = fc.letrec((tie) => ({
    value: fc.oneof(fc.string(), fc.integer(), fc.constant(null), tie("list"), tie("object")),
    list: fc.array(tie("value"), { maxLength: 3 }),
    object: fc.dictionary(
      fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "prototype")),
      tie("value"),
      { maxKeys: 4 },
    ),
  })).value;
  const isClean = (value: unknown): boolean => {
    if (typeof value !== "object" || value === null) return true;
    if (Object.hasOwn(value, "__proto__")) return false;
    const { constructor } = value as { constructor: unknown };
    if (
      Object.hasOwn(value, "constructor") &&
      typeof constructor === "object" &&
      constructor !== null &&
      Object.hasOwn(constructor, "prototype")
    )
      return false;
    return Object.values(value).every(isClean);
  };
  fc.assert(fc.property(polluting, (value) => isClean(parseJson(JSON.stringify(value)))));
  fc.assert(
    fc.property(
      fc.jsonValue({ noUnicodeString: false }),
      (value) =>
        JSON.stringify(JSON.parse(cleanJson(JSON.stringify(value)))) ===
        JSON.stringify(parseJson(JSON.stringify(value))),
    ),
  );
  t.throws(() => cleanJson('1,"status":"forged"'), SyntaxError);
  t.throws(() => serialiseResult(Symbol("x")), { code: "result_not_serialisable" });
  t.throws(() => serialiseResult("é".repeat(5_000_000)), { code: "result_too_large" });
  t.end();
});

const plugin = (name: string, ...requires: string[]) => ({
  name,
  version: "1.2.0",
  requires: requires.map((text) => {
    const [required = "", version = "*"] = text.split("@");
    return { name: required, version };
  }),
});

t.test("the load order has each plugin after those it requires, and every plugin once", (t) => {
  const graph = fc.array(fc.uniqueArray(fc.nat(11), { maxLength: 3 }), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(graph, (requirements) => {
      const plugins = requirements.map((ids, index) => plugin(`p${index}`, ...ids.map((id) => `p${id}`)));
      const { waves, failed } = loadOrder(plugins);
      const placed = new Set<string>();
      for (const wave of waves) {
        for (const name of wave) {
          const { requires } = plugins.find((each) => each.name === name) as (typeof plugins)[number];
          if (!requires.every((required) => placed.has(required.name))) return false;
        }
        for (const name of wave) placed.add(name);
      }
      return placed.size + failed.size === plugins.length && [...placed].every((name) => !failed.has(name));
    }),
  );
  const { waves, failed } = loadOrder([
    plugin("a", "b@^1.0.0"),
    plugin("b"),
    plugin("c", "b@>=2"),
    plugin("d", "e"),
    plugin("e", "d"),
    plugin("f", "d"),
  ]);
  t.same(waves, [["b"], ["a"]]);
  t.same(Object.fromEntries([...failed].map(([name, { code }]) => [name, code])), {
    c: "requirement_missing",
    d: "requirement_cycle",
    e: "requirement_cycle",
    f: "requirement_cycle",
  });
  t.end();
});

t.test("permissions match by kind, name and action; what denies wins", (t) => {
  const rule = (resource: string, actions: string[], effect: "allow" | "deny" = "allow") => ({
    resource,
    actions,
    effect,
  });
  const cases: [
    rules: ReturnType<typeof rule>[],
    target: string,
    action: string,
    sandboxed: boolean,
    trusted: boolean,
  ][] = [
    [[], "cache", "get", false, true],
    [[rule("cache", ["get"])], "cache", "get", true, true],
    [[rule("cache", ["get"])], "cache", "set", false, false],
    [[rule("cache", ["write"])], "cache", "delete", true, true],
    [[rule("database.main", ["read"])], "database:main", "read", true, true],
    [[rule("databases:*", ["*"])], "database:main", "write", true, true],
    [[rule("database:main", ["read"])], "database:mainly", "read", false, false],
    [[rule("plugin:bill*", ["pay"])], "plugin:billing", "pay", true, true],
    [[rule("plugin:a.b", ["call"])], "plugin:a.b", "anything", true, true],
    [[rule("plugin:aXb", ["call"])], "plugin:a.b", "anything", false, false],
    [[rule("*", ["*"]), rule("plugin:secret", ["*"], "deny")], "plugin:secret", "x", false, false],
    [[rule("plugin:secret", ["*"], "deny")], "plugin:open", "x", false, true],
    [[rule("events:order.*", ["publish"])], "events:order.paid", "emit", true, true],
    [[rule("*", ["*"])], "process:1", "kill", false, false],
    [[rule("(.*", ["("])], "cache", "get", false, true],
  ];
  for (const [rules, target, action, sandboxed, trusted] of cases) {
    t.equal(
      isPermitted(rules, "sandboxed", target, action),
      sandboxed,
      `sandboxed: ${JSON.stringify(rules)} ${target} ${action}`,
    );
    t.equal(
      isPermitted(rules, "trusted", target, action),
      trusted,
      `trusted: ${JSON.stringify(rules)} ${target} ${action}`,
    );
  }
  t.end();
});

t.test("a rate limit gives its calls at once, then evenly", (t) => {
  let now = 0;
  const limit = new RateLimit({ calls: 2, period_seconds: 10 }, () => now);
  t.same([limit.take(), limit.take(), limit.take()], [0, 0, 5]);
  now += 5000;
  t.same([limit.take(), limit.take()], [0, 5]);
  now += 1e9;
  t.same([limit.take(), limit.take(), limit.take() > 0], [0, 0, true]);
  t.end();
});

t.test("restarts come after pauses that double, and end when there are too many", (t) => {
  let now = 0;
  const policy = new RestartPolicy({ max_restarts: 3, restart_window_seconds: 60, backoff_ms: 100 }, () => now);
  t.same([policy.next(), policy.next(), policy.next(), policy.next()], [100, 200, 400, undefined]);
  now += 61_000;
  t.equal(policy.next(), 100);
  t.end();
});

t.test("a cron expression is due when all of its fields are", (t) => {
  const at = (text: string): Date => new Date(text);
  const due = (expression: string, text: string): boolean => parseCron(expression)(at(text));
  t.ok(due("* * * * *", "2026-03-01T10:30:00"));
  t.ok(due("*/15 8-18 * * 1-5", "2026-03-02T10:30:00"), "a Monday");
  t.notOk(due("*/15 8-18 * * 1-5", "2026-03-01T10:30:00"), "a Sunday");
  t.ok(due("0 0 * * 7", "2026-03-01T00:00:00"));
  t.ok(due("0 0 1,15 * 1", "2026-03-15T00:00:00"), "either day is enough when both are named");
  t.ok(due("5/20 * * * *", "2026-03-01T10:45:00"));
  for (const bad of ["", "* * * *", "60 * * * *", "a * * * *", "*/0 * * * *", "5-1 * * * *", "* * 0 * *"])
    t.throws(() => parseCron(bad), bad);
  t.end();
});

t.test("a memory cache forgets what is old, least used or deleted", async (t) => {
  let now = 0;
  const cache = new MemoryCache({ ttl: 10, maxSize: 2 }, () => now);
  const ask = (method: string, ...parameters: unknown[]) => cache.request(method, parameters, "me");
  await ask("set", "a", 1);
  await ask("set", "b", 2);
  await ask("get", "a");
  await ask("set", "c", 3);
  t.same([await ask("get", "a"), await ask("get", "b"), await ask("get", "c")], [1, null, 3]);
  now += 10_001;
  t.equal(await ask("get", "a"), null);
  await ask("set", "for ever", 1, 0);
  now += 1e12;
  t.equal(await ask("get", "for ever"), 1);
  await t.rejects(ask("set", "x", "y".repeat(2_000_000)), { code: "service_unavailable" });
  await t.rejects(ask("set", "x", 1, -1), { code: "service_unavailable" });
  await t.rejects(ask("get", 7), { code: "service_unavailable" });
});

t.test("a SQLite URL is a path relative to the project root, or memory", (t) => {
  const paths = {
    "sqlite:main.db": "/root/main.db",
    "sqlite:///abs/main.db": "/abs/main.db",
    "sqlite://rel.db": "/root/rel.db",
    "file:x.db": "/root/x.db",
    "x.db": "/root/x.db",
    ":memory:": ":memory:",
    "sqlite::memory:": ":memory:",
    "sqlite://": ":memory:",
  };
  for (const [url, path] of Object.entries(paths)) t.equal(sqlitePath(url, "/root"), path, url);
  t.end();
});

t.test("a Node that cannot deny the network runs no sandbox that was not granted it", (t) => {
  const confinement = { reads: ["/release"], writes: ["/release/data"], network: false, maxMemoryMb: 64, maxDiskMb: 1 };
  t.throws(() => sandboxLaunch(confinement, false), { code: "sandbox_unavailable", message: /Node 25/ });
  t.notOk(sandboxLaunch(confinement, true).arguments.includes("--allow-net"));
  t.notOk(sandboxLaunch({ ...confinement, network: true }, false).arguments.includes("--allow-net"));
  t.ok(sandboxLaunch({ ...confinement, network: true }, true).arguments.includes("--allow-net"));
  t.throws(() => sandboxLaunch({ ...confinement, reads: ["/rel*ase"] }, true), { code: "sandbox_unavailable" });
  t.ok(sandboxLaunch(confinement, true).arguments.includes("--permission"));
  t.end();
});

t.test("a descriptor has the contract's defaults, and its other keys are the plugin's config", (t) => {
  const read = descriptor.parse({
    name: "demo",
    version: "1.0.0",
    requires: ["a", { name: "b", version: "^1" }],
    greeting: "hello",
  });
  t.match(read, {
    entry_point: "src/main.js",
    execution_mode: "sandboxed",
    requires: [
      { name: "a", version: "*" },
      { name: "b", version: "^1" },
    ],
    resources: { timeout_seconds: 10, max_memory_mb: 128, max_disk_mb: 50 },
    runtime: {
      health_check: { enabled: true, interval_seconds: 30, timeout_seconds: 3 },
      retry: { max_attempts: 1, backoff_seconds: 0 },
    },
    filesystem: { allowed_paths: ["data/"], denied_paths: ["src/"] },
    network: false,
    config: { greeting: "hello" },
  });
  t.notOk("greeting" in read);
  const bad = [
    { execution_mode: "x" },
    { entry_point: "../x.js" },
    { entry_point: "/x.js" },
    { resources: { max_memory_mb: -1 } },
    { resources: { unknown: 1 } },
    { permissions: [{ resource: "x", actions: [], effect: "allow" }] },
    { permissions: [{ resource: "x", actions: ["y"], effect: "maybe" }] },
    { env: { "A-B": "x" } },
    { network: "yes" },
    { version: undefined },
    { name: "a/b" },
    { name: "../x" },
  ];
  for (const change of bad)
    t.notOk(descriptor.safeParse({ name: "demo", version: "1", ...change }).success, JSON.stringify(change));
  t.end();
});
