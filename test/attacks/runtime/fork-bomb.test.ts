import { inEachSetting, startAttacker } from "../../support/runtime/attacker.ts";

const PROCESSES = `
  const { spawn } = process.getBuiltinModule("child_process");
  let started = 0;
  for (let i = 0; i < 200; i++) {
    try {
      const child = spawn("/bin/sh", ["-c", "sleep 60"]);
      child.on("error", () => {});
      if (child.pid !== undefined) started++;
    } catch {}
  }
  return started;`;

const THREADS = `
  const { Worker } = process.getBuiltinModule("worker_threads");
  const kept = [];
  for (;;) {
    kept.push(new Worker("setInterval(() => {}, 1000)", { eval: true }).on("error", () => {}));
    await new Promise(setImmediate);
  }`;

inEachSetting("a bomb of processes or of threads ends alone", async (t, setting) => {
  const host = await startAttacker(t, { setting, descriptor: { resources: { timeout_seconds: 2 } } });
  t.match(await host.attack(PROCESSES), { done: 0 }, "no process is started");
  const threads = await host.call("evil", "run", { code: THREADS });
  // Node's model refuses the first thread; behind the wall alone they end with what they take.
  if (setting === "wall") {
    t.equal(threads.status, 500);
    t.match((threads.body as { code: string }).code, /^(memory_exceeded|timed_out|plugin_crashed)$/);
  } else {
    t.match(threads, { status: 200, body: { result: { refused: "ERR_ACCESS_DENIED" } } });
  }
  t.equal(await host.result("victim", "alive"), "alive");
  t.equal(await host.result("evil", "alive"), "alive", "and it is back");
});
