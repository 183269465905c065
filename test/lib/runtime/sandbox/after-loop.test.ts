// Only in test:all: plugins that loop until they are ended, 9 s of a processor.
import { existsSync, readFileSync, rmSync } from "node:fs";
import t from "tap";
import { actions, type Host, sandboxed, startHost } from "../../../support/runtime/host.ts";
import { until } from "../../../support/until.ts";

/** The way back of a plugin whose event loop a call has blocked. */

const BOX = actions(
  `
  loop: (_payload, { dataDir }) => { appendFileSync(dataDir + "/begun", "loop\\n"); for (;;); },
  busy: ({ ms }) => { const end = Date.now() + ms; while (Date.now() < end); return "done"; },
  note: (_payload, { dataDir }) => { appendFileSync(dataDir + "/begun", "note\\n"); return process.pid; },
  pid: () => process.pid,
  keep: () => new Promise(() => {}),
  `,
  `import { appendFileSync, existsSync } from "node:fs";
   const told = (name) => existsSync("data/" + name);
   if (told("slowly")) await new Promise((resolve) => setTimeout(resolve, 2000));
   if (told("crash")) process.exit(3);
   if (told("block")) for (;;);`,
);

const begun = (host: Host): string => host.path("plugins/box/data/begun");
const hasBegun = (host: Host) => (): boolean => existsSync(begun(host));
const quick = { resources: { timeout_seconds: 0.5 } };

t.test("a plugin works again as soon as its loop is given up: no grace and no pause goes before", async (t) => {
  const host = await startHost(t, {
    plugins: { box: sandboxed("box", BOX, quick) },
    configuration: { plugins: { sandbox: { grace_ms: 30_000, backoff_ms: 30_000 } } },
  });
  const { pid } = (await host.status("box")) as { pid: number };
  t.match(await host.call("box", "loop"), { status: 500, body: { code: "timed_out" } });
  const since = performance.now();
  await host.result("box", "pid");
  t.ok(performance.now() - since < 20_000, "before grace or pause could be over");
  const { pid: next } = (await host.status("box")) as { pid: number };
  t.not(next, pid);
  t.match(await host.status("box"), { pid: next, restarts: 1 });
});

t.test("a call that comes during a loop is answered by the next process, and runs once", async (t) => {
  const host = await startHost(t, { plugins: { box: sandboxed("box", BOX, quick) } });
  const loop = host.call("box", "loop");
  await until(hasBegun(host));
  await new Promise((resolve) => setTimeout(resolve, 20));
  const calls = await Promise.all([host.call("box", "note"), host.call("box", "note")]);
  for (const { status } of calls) t.equal(status, 200);
  t.match(await loop, { status: 500, body: { code: "timed_out" } });
  t.equal(readFileSync(begun(host), "utf8"), "loop\nnote\nnote\n");
});

t.test("a call that was begun before the loop is not begun again", async (t) => {
  const host = await startHost(t, { plugins: { box: sandboxed("box", BOX, quick) } });
  const kept = host.call("box", "keep");
  await host.result("box", "pid");
  t.match(await host.call("box", "loop"), { status: 500, body: { code: "timed_out" } });
  t.match(await kept, { status: 500 });
  t.equal(readFileSync(begun(host), "utf8"), "loop\n");
});

t.test("a loop that goes on before its successor is there keeps its process", async (t) => {
  const host = await startHost(t, {
    plugins: { box: sandboxed("box", BOX, quick) },
    configuration: { plugins: { sandbox: { grace_ms: 5000 } } },
  });
  const { pid } = (await host.status("box")) as { pid: number };
  host.write("plugins/box/data/slowly", "");
  t.match(await host.call("box", "busy", { ms: 1000 }), { status: 500, body: { code: "timed_out" } });
  t.ok(await host.result("box", "pid"));
  t.match(await host.status("box"), { pid, restarts: 0 });
});

t.test("a loop that ends just in time keeps its process, though another one is started", async (t) => {
  const host = await startHost(t, { plugins: { box: sandboxed("box", BOX, { resources: { timeout_seconds: 3 } }) } });
  const { pid } = (await host.status("box")) as { pid: number };
  const isTold = ({ msg }: { msg?: unknown }): boolean => String(msg).includes("another process is started");
  t.equal(await host.result("box", "busy", { ms: 2850 }), "done");
  t.ok(host.logs.some(isTold));
  t.ok(await host.result("box", "pid"));
  t.match(await host.status("box"), { pid, restarts: 0 });
});

t.test("a successor that loops, too, is replaced after a pause, and siblings notice nothing", async (t) => {
  const host = await startHost(t, {
    plugins: { box: sandboxed("box", BOX, quick), sibling: sandboxed("sibling", BOX) },
    configuration: { plugins: { sandbox: { backoff_ms: 50 } } },
  });
  for (let loop = 0; loop < 3; loop++) {
    t.match(await host.call("box", "loop"), { status: 500, body: { code: "timed_out" } });
    t.equal(typeof (await host.result("sibling", "pid")), "number");
  }
  t.equal(typeof (await host.result("box", "pid")), "number");
  t.match(await host.status("sibling"), { restarts: 0 });
});

for (const [word, what] of Object.entries({ crash: "crashes", block: "loops" })) {
  t.test(`a plugin that ${what} at each start comes back by itself once it does not, and says when`, async (t) => {
    const host = await startHost(t, {
      plugins: { box: sandboxed("box", BOX, quick), sibling: sandboxed("sibling", BOX) },
      configuration: {
        plugins: {
          sandbox: { max_restarts: 1, backoff_ms: 10, restart_window_seconds: 4, start_seconds: 1, grace_ms: 50 },
        },
      },
    });
    host.write(`plugins/box/data/${word}`, "");
    t.match(await host.call("box", "loop"), { status: 500, body: { code: "timed_out" } });
    await until(async () => (await host.status("box")).state === "error");
    t.match(await host.status("box"), { error_code: "retries_exhausted", error: /started again at 20\d\d-/ });
    const refused = await host.call("box", "pid");
    t.match(refused, { status: 404, body: { code: "not_loaded", msg: /started again at 20\d\d-/ } });
    t.match(refused.headers.get("retry-after"), /^[1-4]$/);
    // It still fails at the first try, and tries again.
    await until(async () => (await host.status("box")).error_code !== "retries_exhausted");
    t.match(await host.status("box"), { state: "error", error: /started again at 20\d\d-/ });
    rmSync(host.path(`plugins/box/data/${word}`));
    await until(async () => (await host.status("box")).state === "loaded", 30_000);
    t.equal(typeof (await host.result("box", "pid")), "number");
    t.match(await host.status("sibling"), { state: "loaded", restarts: 0 });
  });
}

t.test("an unload ends the wait for a plugin's return", async (t) => {
  const host = await startHost(t, {
    plugins: { box: sandboxed("box", BOX, quick) },
    configuration: { plugins: { sandbox: { max_restarts: 0, restart_window_seconds: 60 } } },
  });
  host.write("plugins/box/data/crash", "");
  t.match(await host.call("box", "loop"), { status: 500, body: { code: "timed_out" } });
  await until(async () => (await host.status("box")).state === "error");
  await host.unload("box");
  t.match(await host.status("box"), { state: "idle" });
  t.equal((await host.call("box", "pid")).headers.get("retry-after"), null);
});
