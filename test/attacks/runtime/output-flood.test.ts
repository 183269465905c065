import { inEachSetting, startAttacker } from "../../support/runtime/attacker.ts";
import { until } from "../../support/until.ts";

/** Milliseconds for which each flood goes on. */
const FLOOD_MS = 700;
const flood = (write: string): string =>
  `const until = Date.now() + ${FLOOD_MS}; while (Date.now() < until) { ${write}; await new Promise(setImmediate); } return "done"`;
const FLOODS = {
  "short lines": flood(`process.stdout.write("flood\\n".repeat(1000))`),
  "one line without an end": flood(`process.stdout.write("x".repeat(100000))`),
  "both streams": flood(`process.stdout.write("out\\n".repeat(1000)); process.stderr.write("err\\n".repeat(1000))`),
};

inEachSetting(
  "a flood of output fills neither the log nor the runtime's memory, and stops nobody",
  async (t, setting) => {
    const host = await startAttacker(t, { setting, descriptor: { resources: { timeout_seconds: 20 } } });
    for (const [name, code] of Object.entries(FLOODS)) {
      const before = process.memoryUsage.rss();
      const first = host.logs.length;
      const records = () => host.logs.slice(first).filter(({ plugin }) => plugin === "evil");
      let isOver = false;
      const call = host.call("evil", "run", { code }).finally(() => (isOver = true));
      let slowest = 0;
      while (!isOver) {
        const started = performance.now();
        t.equal(await host.result("victim", "alive"), "alive");
        slowest = Math.max(slowest, performance.now() - started);
      }
      // What the runtime does not take up piles up in the plugin's own memory, which is limited.
      const { status, body } = await call;
      t.ok(status === 200 || body.code === "memory_exceeded", `${name}: ${status} ${JSON.stringify(body)}`);
      // What was dropped in a second is told after it.
      if (name !== "one line without an end")
        await until(() => records().some(({ lines }) => Number(lines) > 0)).then(() =>
          t.pass("what was dropped is told"),
        );
      const lines = records().filter(({ stream }) => stream !== undefined);
      t.ok(lines.length < 4000, `${name}: ${lines.length} lines were logged`);
      t.ok(
        lines.every(({ msg }) => msg.length <= 8 * 1024 + 1),
        "no line is longer than the limit",
      );
      t.ok(process.memoryUsage.rss() - before < 150 * 1024 * 1024, `${name}: memory is bounded`);
      t.ok(slowest < 2000, `${name}: the slowest call meanwhile took ${Math.round(slowest)} ms`);
      // What the flood left in its process would cost the next one its first lines: that one gets a process of its own.
      await host.call("evil", "run", { code: "process.exit()" });
      await until(async () => (await host.call("evil", "alive")).status === 200);
    }
  },
);
