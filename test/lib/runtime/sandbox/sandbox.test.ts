import t from "tap";
import { actions, isAlive, sandboxed, startHost, trusted } from "../../../support/runtime/host.ts";
import { until } from "../../../support/until.ts";

const BOX = actions(
  `
  echo: (payload) => payload,
  sleep: ({ ms, value }) => new Promise((resolve) => setTimeout(() => resolve(value), ms)),
  loop: () => { for (;;); },
  hang: () => new Promise(() => {}),
  patient: (_payload, { signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve(signal.reason.message))),
  exit: () => process.exit(3),
  crash: () => { setTimeout(() => { throw new Error("nobody catches this"); }); return new Promise(() => {}); },
  reject: () => { void Promise.reject(new Error("nobody awaits this")); return new Promise(() => {}); },
  text: ({ bytes }) => "x".repeat(bytes),
  print: ({ text }) => { console.log(text); console.error(text); return "printed"; },
  raw: ({ text }) => { process.stdout.write(text); return "written"; },
  env: () => ({ ...process.env }),
  data: (_payload, { dataDir }) => dataDir,
  write: async (payload, { dataDir }) => (await import("node:fs")).writeFileSync(dataDir + "/" + payload.name, Buffer.alloc(payload.bytes, 1)),
  read: async (payload, { dataDir }) => (await import("node:fs")).readFileSync(dataDir + "/" + payload.name, "utf8"),
`,
  `console.log("a stray print while loading");`,
);

const quick = { resources: { timeout_seconds: 0.5 } };

t.test("a call that times out is a 500, and its late end never reaches another caller", async (t) => {
  const host = await startHost(t, { plugins: { box: sandboxed("box", BOX, quick) } });
  const late = await host.call("box", "sleep", { ms: 700, value: "late" });
  t.match(late, { status: 500, body: { code: "timed_out" } });
  const values = await Promise.all(
    Array.from({ length: 20 }, (_, index) => host.result("box", "sleep", { ms: 10 + (index % 7) * 30, value: index })),
  );
  t.same(
    values,
    Array.from({ length: 20 }, (_, index) => index),
  );
});

t.test("concurrent calls get their own replies, whatever the order in which they end", async (t) => {
  const host = await startHost(t, { plugins: { box: sandboxed("box", BOX) } });
  const waits = Array.from({ length: 100 }, (_, index) => ({ ms: (index * 37) % 100, value: `value ${index}` }));
  const results = await Promise.all(waits.map((payload) => host.result("box", "sleep", payload)));
  t.same(
    results,
    waits.map(({ value }) => value),
  );
});

t.test(
  "a cancelled call learns it through its signal, and one that ends is no reason for another process",
  async (t) => {
    const host = await startHost(t, { plugins: { box: sandboxed("box", BOX, quick) } });
    const pid = ((await host.status("box")) as { pid: number }).pid;
    t.match(await host.call("box", "patient"), { status: 500, body: { code: "timed_out" } });
    await new Promise((resolve) => setTimeout(resolve, 800));
    t.equal((await host.status("box")).pid, pid);
    t.match(await host.status("box"), { restarts: 0 });
  },
);

t.test(
  "a call that never ends costs its process; other calls finish on it, and new ones go to a new process",
  async (t) => {
    const host = await startHost(t, {
      plugins: { box: sandboxed("box", BOX, { resources: { timeout_seconds: 1.5 } }) },
    });
    const pid = ((await host.status("box")) as { pid: number }).pid;
    const hanging = host.call("box", "hang");
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const other = host.call("box", "sleep", { ms: 1300, value: "finished" });
    t.match(await hanging, { status: 500, body: { code: "timed_out" } });
    t.match(await other, { status: 200, body: { result: "finished" } });
    await until(async () => (await host.status("box")).restarts === 1);
    await until(() => !isAlive(pid));
    t.match(await host.status("box"), { state: "loaded", restarts: 1 });
  },
);

t.test("an endless loop costs one time-out: the process is replaced and the next call is answered", async (t) => {
  const host = await startHost(t, { plugins: { box: sandboxed("box", BOX, quick), other: sandboxed("other", BOX) } });
  const pid = ((await host.status("box")) as { pid: number }).pid;
  const [looped, next, elsewhere] = await Promise.all([
    host.call("box", "loop"),
    new Promise((resolve) => setTimeout(resolve, 600)).then(() => host.call("box", "echo", 1)),
    host.call("other", "echo", 2),
  ]);
  t.match(looped, { status: 500, body: { code: "timed_out" } });
  t.match(next, { status: 200, body: { result: 1 } }, "a caller who comes meanwhile waits for the new process");
  t.match(elsewhere, { status: 200 });
  await until(() => !isAlive(pid));
  t.equal(await host.counter("sealift_plugin_restarts_total"), 1);
});

t.test("a process that ends is a 500 with the reason, and is started again", async (t) => {
  const host = await startHost(t, { plugins: { box: sandboxed("box", BOX) } });
  t.match(await host.call("box", "exit"), { status: 500, body: { code: "plugin_crashed", msg: /exit code 3/ } });
  t.match(await host.call("box", "crash"), {
    status: 500,
    body: { code: "plugin_crashed", msg: /nobody catches this/ },
  });
  t.match(await host.call("box", "reject"), {
    status: 500,
    body: { code: "plugin_crashed", msg: /nobody awaits this/ },
  });
  t.match(await host.call("box", "echo", 1), { status: 200 });
  t.match(await host.status("box"), { state: "loaded", restarts: 3 });
});

t.test("a process that ends too often goes to error, and a load brings it back", async (t) => {
  const host = await startHost(t, {
    plugins: { box: sandboxed("box", BOX) },
    configuration: { plugins: { sandbox: { max_restarts: 2, backoff_ms: 10 } } },
  });
  for (let end = 0; end < 3; end++) t.match(await host.call("box", "exit"), { status: 500 });
  await until(async () => (await host.status("box")).state === "error");
  t.match(await host.status("box"), { state: "error", error_code: "retries_exhausted", error: /exit code 3/ });
  t.match(await host.call("box", "echo"), { status: 404, body: { code: "not_loaded" } });
  t.equal((await host.load("box")).status, 200);
  t.equal((await host.call("box", "echo", 1)).status, 200);
});

t.test("a reply of many megabytes arrives whole, and one over the limit is a 500 that harms nothing", async (t) => {
  const host = await startHost(t, { plugins: { box: sandboxed("box", BOX, { resources: { max_memory_mb: 256 } }) } });
  for (const bytes of [64 * 1024, 64 * 1024 + 1, 1_000_000, 7_900_000]) {
    t.equal(((await host.result("box", "text", { bytes })) as string).length, bytes, `${bytes} bytes`);
  }
  t.match(await host.call("box", "text", { bytes: 8_500_000 }), { status: 500, body: { code: "result_too_large" } });
  t.match(await host.call("box", "echo", { a: "x".repeat(3_000_000) }), { status: 200 });
  t.match(await host.status("box"), { restarts: 0 });
});

t.test("prints go to the log line by line, under the plugin's name, and do not disturb the channel", async (t) => {
  const host = await startHost(t, { plugins: { box: sandboxed("box", BOX) } });
  t.equal(await host.result("box", "print", { text: "one\ntwo" }), "printed");
  await host.result("box", "raw", { text: '\0\0\0\x10{"t":"reply"}' });
  await until(() => host.logs.filter(({ msg }) => msg === "two").length === 2);
  t.match(
    host.logs.filter(({ msg }) => msg === "two"),
    [
      { plugin: "box", stream: "stdout" },
      { plugin: "box", stream: "stderr" },
    ],
  );
  t.ok(host.logs.some(({ msg, plugin }) => msg === "a stray print while loading" && plugin === "box"));
  t.match(await host.call("box", "echo", 1), { status: 200 });
});

t.test("a sandbox sees the variables that its descriptor declares and no others", async (t) => {
  const host = await startHost(t, {
    plugins: {
      box: sandboxed("box", BOX, {
        env: { FIXED: "value", FROM_HOST: "pre-${HOST_VALUE}" },
        environment: { required: ["NEEDED"], optional: ["WANTED", "ABSENT"] },
      }),
    },
    files: { "plugins/box.env": "NEEDED=from the env file\nWANTED=file\nUNDECLARED=x\n" },
    env: { HOST_VALUE: "host", WANTED: "process", SECRET: "hidden" },
  });
  t.same(await host.result("box", "env"), {
    FIXED: "value",
    FROM_HOST: "pre-host",
    NEEDED: "from the env file",
    WANTED: "process",
  });
});

t.test("an unset variable, or one that belongs to the runtime, keeps a plugin from loading", async (t) => {
  const host = await startHost(t, {
    plugins: {
      unset: sandboxed("unset", BOX, { env: { A: "${NOT_SET}" } }),
      required: sandboxed("required", BOX, { environment: { required: ["NOT_SET"] } }),
      thief: sandboxed("thief", BOX, { env: { A: "${DATABASE_URL}" } }),
      options: sandboxed("options", BOX, { env: { NODE_OPTIONS: "--allow-child-process" } }),
    },
    configuration: { services: { databases: { main: { type: "sqlite", url: "${DATABASE_URL}" } } } },
    env: { DATABASE_URL: "sqlite:main.db" },
  });
  for (const name of ["unset", "required", "thief", "options"]) {
    t.match(await host.status(name), { state: "error", error_code: "environment_missing" }, name);
  }
});

t.test("data/ is writable, survives a reload, and is the host's store where the agent links it", async (t) => {
  const host = await startHost(t, { plugins: { box: sandboxed("box", BOX) } });
  await host.result("box", "write", { name: "kept", bytes: 3 });
  await host.reload("box");
  t.equal(await host.result("box", "read", { name: "kept" }), "\x01\x01\x01");
});

t.test("a plugin whose data outgrows its disk limit is stopped, and loads again when there is room", async (t) => {
  const host = await startHost(t, { plugins: { box: sandboxed("box", BOX, { resources: { max_disk_mb: 1 } }) } });
  t.equal((await host.call("box", "write", { name: "a", bytes: 900_000 })).status, 200);
  const large = await host.call("box", "write", { name: "large", bytes: 3_000_000 });
  t.equal(large.status, 500, "one file larger than the limit is refused by the kernel");
  await host.call("box", "write", { name: "b", bytes: 900_000 });
  // Writing may cost less than a tick of the processor: then the next look at the disk comes after 15 s.
  await until(async () => (await host.status("box")).state === "error", 20_000);
  t.match(await host.status("box"), { state: "error", error_code: "disk_exceeded" });
  t.match(await host.load("box"), { status: 500, body: { code: "disk_exceeded" } });
  const { rmSync } = await import("node:fs");
  for (const name of ["a", "b", "large"]) rmSync(host.path("plugins/box/data", name), { force: true });
  t.match(await host.load("box"), { status: 200 });
});

t.test("retry calls an action again when it fails, as often as the descriptor says", async (t) => {
  const flaky = actions(
    `flaky: () => { if (++attempts < 3) throw new Error("not yet"); return attempts; }`,
    "let attempts = 0;",
  );
  const retry = { runtime: { retry: { max_attempts: 3 } } };
  const host = await startHost(t, {
    plugins: { box: sandboxed("box", flaky, retry), twice: trusted("twice", flaky, retry) },
  });
  t.equal(await host.result("box", "flaky"), 3);
  t.equal(await host.result("twice", "flaky"), 3);
});

t.test("a plugin that allows writing where it denies it, or outside of its folder, is refused", async (t) => {
  const host = await startHost(t, {
    plugins: {
      all: sandboxed("all", BOX, { filesystem: { allowed_paths: ["."], denied_paths: ["src/"] } }),
      whole: sandboxed("whole", BOX, { filesystem: { allowed_paths: ["."], denied_paths: [] } }),
      rights: sandboxed("rights", BOX, { filesystem: { allowed_paths: ["./plugin.yaml"], denied_paths: [] } }),
      same: sandboxed("same", BOX, { filesystem: { allowed_paths: ["src/"] } }),
      below: sandboxed("below", BOX, { filesystem: { allowed_paths: ["src/cache"] } }),
      outside: sandboxed("outside", BOX, { filesystem: { allowed_paths: ["../other"] } }),
      absolute: sandboxed("absolute", BOX, { filesystem: { allowed_paths: ["/tmp"] } }),
      fine: sandboxed("fine", BOX, { filesystem: { allowed_paths: ["data/", "cache/"] } }),
    },
  });
  for (const name of ["all", "whole", "rights", "same", "below", "outside", "absolute"]) {
    t.match(await host.status(name), { state: "error", error_code: "descriptor_invalid" }, name);
  }
  t.match(await host.status("fine"), { state: "loaded" });
});

t.test("a sandbox that takes too long to load is given up", async (t) => {
  const host = await startHost(t, {
    plugins: {
      slow: sandboxed("slow", "await new Promise(() => setInterval(() => {}, 1000));"),
      loop: sandboxed("loop", "for (;;);"),
    },
    configuration: { plugins: { sandbox: { start_seconds: 1 } } },
  });
  for (const name of ["slow", "loop"])
    t.match(await host.status(name), { state: "error", error_code: "load_failed" }, name);
});

t.test("large payloads and results pass through as they are, and what is not JSON does not", async (t) => {
  const plugins = { box: sandboxed("box", BOX), open: trusted("open", BOX) };
  const host = await startHost(t, { plugins });
  const large = 'é\u2028"\\ '.repeat(40_000);
  for (const plugin of ["box", "open"]) {
    t.same(await host.result(plugin, "echo", { large, n: [1e21, -0.5] }), { large, n: [1e21, -0.5] });
    const call = (body: string) => host.system("POST", `/plugin/ipc/${plugin}/echo`, body);
    const text = JSON.stringify(large);
    t.match(await call(`{ "payload": {"a": ${text}, "a": 2} }`), { status: 200, body: { result: { a: 2 } } });
    t.match(await call(`{"payload": 1, "more": ${text}}`), { status: 200, body: { result: 1 } });
    t.match(await call(`{"payload": ${text}, "payload": 7}`), { status: 200, body: { result: 7 } });
    t.match(await call(`{"payload": \n${text}\t}`), { status: 200, body: { result: large } });
    t.match(await call('{"payload": null}'), { status: 200, body: { result: {} } });
    t.match(await call('{"payload":1,"payload":{"a":[]}}'), { status: 200, body: { result: { a: [] } } });
    t.match(await call('{"payload":}'), { status: 400, body: { code: "bad_json" } });
    t.match(await call(`{"payload": {"__proto__": 1, "b": ${text}}}`), { status: 400, body: { code: "bad_json" } });
    t.match(await call(`{"payload": ${text}`), { status: 400, body: { code: "bad_json" } });
    t.match(await call(`{"payload": ${text}}}`), { status: 400, body: { code: "bad_json" } });
    t.match(await call(text), { status: 400, body: { code: "bad_request" } });
  }
});
