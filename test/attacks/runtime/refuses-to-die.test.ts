// Only in test:all: it starts many sandboxes, 3 s of a processor.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import t from "tap";
import { startAttacker } from "../../support/runtime/attacker.ts";
import { isAlive, KEY } from "../../support/runtime/host.ts";
import { until } from "../../support/until.ts";

/** Everything that a process can do in JavaScript to stay: handlers, timers, loops, an onUnload that never ends. */
const STUBBORN = `
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"]) process.on(signal, () => {});
  process.on("exit", () => { for (;;); });
  process.on("beforeExit", () => setTimeout(() => {}, 1e9));
  process.exit = () => {};
  process.reallyExit = () => {};
  setInterval(() => {}, 1000);
  const actions = { loop: () => { for (;;); }, alive: () => "alive", hang: () => new Promise(() => {}) };
  export default { actions, onUnload: () => new Promise(() => {}) };`;
const LOOPING = `export default { actions: { loop: () => { for (;;); }, alive: () => "alive" }, onUnload: () => { for (;;); } };`;

const plugin = (name: string, source: string) => ({
  descriptor: { name, version: "1.0.0", entry_point: "main.mjs", resources: { timeout_seconds: 30 } },
  files: { "main.mjs": source },
});
const plugins = { stubborn: plugin("stubborn", STUBBORN), looping: plugin("looping", LOOPING) };

t.test("unload, reload and close end a plugin that refuses to, in bounded time", async (t) => {
  const host = await startAttacker(t, { plugins });
  const pidOf = async (name: string): Promise<number> => ((await host.status(name)) as { pid: number }).pid;
  for (const name of ["stubborn", "looping"]) {
    const pids = [await pidOf(name)];
    const started = performance.now();
    t.match(await host.unload(name), { status: 200 });
    t.notOk(pids.some(isAlive), `${name} is gone after its unload`);
    await host.load(name);
    pids.push(await pidOf(name));
    t.match(await host.reload(name), { status: 200 });
    await until(() => !isAlive(pids[1] as number), 5000);
    t.ok(performance.now() - started < 8000, "in bounded time");
  }
  const last = await Promise.all(["stubborn", "looping", "evil", "victim"].map(pidOf));
  const started = performance.now();
  await host.runtime.close();
  t.ok(performance.now() - started < 8000);
  t.notOk(last.some(isAlive), "none is left after the close");
});

t.test("a runtime that is killed takes its sandboxes with it, even one that loops", async (t) => {
  const root = t.testdir({
    plugins: {
      looping: {
        "plugin.yaml": "{name: looping, version: 1.0.0, entry_point: main.mjs, resources: {timeout_seconds: 60}}",
        "main.mjs": LOOPING,
      },
      stubborn: { "plugin.yaml": "{name: stubborn, version: 1.0.0, entry_point: main.mjs}", "main.mjs": STUBBORN },
    },
    "integration.yaml": `app: { secret_key: ${KEY}, server: { port: 0 } }\n`,
    "serve.mjs": `
      import { createRuntime } from ${JSON.stringify(fileURLToPath(new URL("../../../lib/runtime/runtime.ts", import.meta.url)))};
      const runtime = await createRuntime({ root: import.meta.dirname, env: {} });
      console.log(await runtime.listen());`,
  });
  const runtime = spawn(process.execPath, [`${root}/serve.mjs`], { stdio: ["ignore", "pipe", "ignore"] });
  const [line] = (await once(runtime.stdout, "data")) as [Buffer];
  const url = String(line).trim();
  const headers = { "x-plugin-key": KEY };
  const { plugins: found } = (await (await fetch(`${url}/plugin/ipc/status`, { headers })).json()) as {
    plugins: { pid: number }[];
  };
  const pids = found.map(({ pid }) => pid);
  t.ok(pids.length === 2 && pids.every(isAlive));
  void fetch(`${url}/plugin/ipc/looping/loop`, { method: "POST", headers }).catch(() => undefined);
  await new Promise((resolve) => setTimeout(resolve, 300));
  runtime.kill("SIGKILL");
  await once(runtime, "exit");
  await until(() => !pids.some(isAlive), 5000);
  t.notOk(pids.some(isAlive));
});
