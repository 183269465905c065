// Only in test:all: plugins that grow until they are ended.
import { request } from "node:http";
import t, { type Test } from "tap";
import { actions, type Host, KEY, sandboxed, startHost } from "../../../support/runtime/host.ts";
import { until } from "../../../support/until.ts";

/** Plugins and callers that use much memory, at the default limit of 128 MB where no other is said. */

const ECHO = actions(`
  echo: (payload) => payload,
  size: ({ text }) => text.length,
  pid: () => process.pid,
`);

/** Runs a test with a plugin, and with a neighbour that must not notice. */
function box(
  title: string,
  source: string,
  { resources = {}, runtime = {}, sandbox = {} }: { resources?: object; runtime?: object; sandbox?: object },
  run: (t: Test, host: Host) => Promise<void>,
): void {
  void t.test(title, async (t) => {
    const plugins = { box: sandboxed("box", source, { resources, runtime }), neighbour: sandboxed("neighbour", ECHO) };
    const host = await startHost(t, { plugins, configuration: { plugins: { sandbox } } });
    await run(t, host);
    t.equal(await host.result("neighbour", "echo", 1), 1);
    t.match(await host.status("neighbour"), { state: "loaded", restarts: 0 });
  });
}

const megabytes = (count: number): { text: string } => ({ text: "x".repeat(count * 1_000_000) });

/** A busy machine answers late: these tests are about memory. */
const patient = { resources: { timeout_seconds: 30 } };

box("sixteen callers with bodies of a megabyte end no plugin of one line", ECHO, patient, async (t, host) => {
  const payload = megabytes(1);
  const caller = async (): Promise<void> => {
    for (let call = 0; call < 25; call++) t.equal((await host.call("box", "echo", payload)).status, 200);
  };
  await Promise.all(Array.from({ length: 16 }, caller));
  t.match(await host.status("box"), { state: "loaded", restarts: 0 });
});

box("callers with four megabytes at once are answered, or told when to come again", ECHO, patient, async (t, host) => {
  const calls = await Promise.all(Array.from({ length: 32 }, () => host.call("box", "size", megabytes(4))));
  const answered = calls.filter(({ status }) => status === 200);
  t.ok(answered.length >= 16, `${answered.length} answered`);
  for (const { status, body, headers } of calls) {
    if (status === 200) continue;
    t.match({ status, body }, { status: 429, body: { code: "rate_limited" } });
    t.match(headers.get("retry-after"), /^[1-9]/);
  }
  t.match(await host.status("box"), { state: "loaded", restarts: 0 });
});

box("callers that leave, or never read their answers, end no plugin", ECHO, {}, async (t, host) => {
  const url = new URL(`${host.url}/plugin/ipc/box/echo`);
  const body = JSON.stringify({ payload: megabytes(1) });
  const headers = { "x-plugin-key": KEY, "content-type": "application/json" };
  const requests = Array.from({ length: 32 }, (_, index) => {
    // Nobody reads its answer.
    const sent = request(url, { method: "POST", headers, agent: false });
    sent.on("error", () => undefined);
    sent.on("response", (response) => response.pause());
    sent.end(body, () => {
      if (index % 2 === 0) sent.destroy();
    });
    return sent;
  });
  t.teardown(() => requests.forEach((sent) => sent.destroy()));
  await until(async () => (await host.counter("sealift_calls_total")) >= 16, 20_000);
  t.equal(await host.result("box", "echo", 1), 1);
  t.match(await host.status("box"), { state: "loaded", restarts: 0 });
});

const few = { sandbox: { max_restarts: 1 }, ...patient };

const manyValues = { ...few, runtime: { max_body_values: 1_000_000 } };

box("callers whose small texts are large values are to blame for what they end", ECHO, manyValues, async (t, host) => {
  const body = `{"payload":${"[".repeat(999_000)}${"]".repeat(999_000)}}`;
  // The collector may have been in time for one of them.
  let ends = 0;
  for (let call = 0; call < 20 && ends < 4; call++) {
    const headers = { "x-plugin-key": KEY };
    const answer = await fetch(`${host.url}/plugin/ipc/box/pid`, { method: "POST", headers, body });
    const { code } = (await answer.json()) as { code?: string };
    if (code === "memory_exceeded") ends++;
    else t.equal(code, undefined);
  }
  t.equal(ends, 4);
  t.equal(await host.result("box", "echo", 1), 1, "it is there for others");
  t.match(await host.status("box"), { state: "loaded" });
});

const LARGE_HEAP = actions(
  `
  // 300 MB of live objects, with garbage on the way.
  fill: () => {
    for (let i = 0; i < 300; i++) kept.push(Array.from({ length: 125_000 }, (_, n) => n + 0.5));
    return process.memoryUsage().heapUsed / 1e6;
  },
  count: () => kept.length,
  `,
  "const kept = [];",
);
const raised = { resources: { max_memory_mb: 512, timeout_seconds: 60 } };

box("a plugin that needs a large heap has it where max_memory_mb is raised", LARGE_HEAP, raised, async (t, host) => {
  t.ok((await host.result("box", "fill")) > 290);
  t.equal(await host.result("box", "count"), 300);
  t.match(await host.status("box"), { state: "loaded", restarts: 0 });
});

const BUFFERS = actions(
  `
  // Each call fills 2 MB, and 32 MB of them are held.
  work: () => { held[turn++ % 16] = Buffer.alloc(2_000_000, 1); return turn; },
  hold: () => { for (;;) held.push(Buffer.alloc(2_000_000, 1)); },
  `,
  "const held = []; let turn = 0;",
);

box("Buffers that a plugin holds count, and those that it let go of do not", BUFFERS, {}, async (t, host) => {
  for (let call = 0; call < 400; call++) t.equal(await host.result("box", "work"), call + 1);
  t.match(await host.status("box"), { state: "loaded", restarts: 0 });
  t.match(await host.call("box", "hold"), { status: 500, body: { code: "memory_exceeded" } });
  t.equal(await host.result("box", "work"), 1, "it is back");
});

const GROWING = actions(
  "grow: () => { kept.push(Array.from({ length: 125_000 }, (_, n) => n + 0.5)); return kept.length; },",
  "const kept = [];",
);

box("a plugin that grows slowly is ended at its limit, and comes back", GROWING, {}, async (t, host) => {
  let last = await host.call("box", "grow");
  let held = 0;
  for (; last.status === 200 && held < 150; last = await host.call("box", "grow")) held = last.body.result as number;
  t.match(last, { status: 500, body: { code: "memory_exceeded" } });
  t.ok(held >= 35, `it held ${held} MB of objects`);
  t.equal(await host.result("box", "grow"), 1);
});

const HOARD = "const hoard = []; for (;;) hoard.push(new Array(100_000).fill(0.5)); export default { actions: {} };";

box("a plugin that takes too much while it loads does not load, and says why", HOARD, {}, async (t, host) => {
  t.match(await host.status("box"), { state: "error", error_code: "memory_exceeded" });
});

const tiny = { resources: { max_memory_mb: 16 } };

box("a limit below what Node.js itself takes is refused by name", ECHO, tiny, async (t, host) => {
  t.match(await host.status("box"), {
    state: "error",
    error_code: "sandbox_unavailable",
    error: /max_memory_mb is 16; Node\.js itself takes \d+ MB here: set it to \d+ or more/,
  });
});

const FILLING = actions(`
  fill: ({ text }) => { const held = []; for (;;) held.push(Buffer.from(text)); },
  pid: () => process.pid,
`);
const one = { sandbox: { max_restarts: 1, backoff_ms: 1 } };

box("ends for memory with large payloads leave no plugin in error", FILLING, one, async (t, host) => {
  for (let end = 0; end < 3; end++) {
    t.match(await host.call("box", "fill", megabytes(3)), { status: 500, body: { code: "memory_exceeded" } });
    t.match(await host.call("box", "pid"), { status: 200 });
  }
  t.match(await host.status("box"), { state: "loaded", restarts: 3 });
});
