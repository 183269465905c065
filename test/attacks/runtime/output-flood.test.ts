import t from "tap";
import { startAttacker } from "../../support/runtime/attacker.ts";

const FLOODS = {
  "short lines": `const until = Date.now() + 1500; while (Date.now() < until) { process.stdout.write("flood\\n".repeat(1000)); await new Promise(setImmediate); } return "done"`,
  "one line without an end": `const until = Date.now() + 1500; while (Date.now() < until) { process.stdout.write("x".repeat(100000)); await new Promise(setImmediate); } return "done"`,
  "both streams": `const until = Date.now() + 1500; while (Date.now() < until) { process.stdout.write("out\\n".repeat(1000)); process.stderr.write("err\\n".repeat(1000)); await new Promise(setImmediate); } return "done"`,
};

for (const [name, code] of Object.entries(FLOODS)) {
  t.test(`a flood of output (${name}) fills neither the log nor the runtime's memory, and stops nobody`, async (t) => {
    const host = await startAttacker(t, { descriptor: { resources: { timeout_seconds: 20 } } });
    const before = process.memoryUsage.rss();
    const flood = host.call("evil", "run", { code });
    let slowest = 0;
    for (let call = 0; call < 10; call++) {
      const started = performance.now();
      t.equal(await host.result("victim", "alive"), "alive");
      slowest = Math.max(slowest, performance.now() - started);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    // What the runtime does not take up piles up in the plugin's own memory, which is limited.
    const { status, body } = await flood;
    t.ok(status === 200 || body.code === "memory_exceeded", `${status} ${JSON.stringify(body)}`);
    await new Promise((resolve) => setTimeout(resolve, 1200));
    const lines = host.logs.filter(({ plugin, stream }) => plugin === "evil" && stream !== undefined);
    t.ok(lines.length < 4000, `${lines.length} lines were logged`);
    t.ok(
      lines.every(({ msg }) => msg.length <= 8 * 1024 + 1),
      "no line is longer than the limit",
    );
    t.ok(
      name === "one line without an end" ||
        host.logs.some(({ plugin, lines }) => plugin === "evil" && Number(lines) > 0),
      "what was dropped is told",
    );
    t.ok(process.memoryUsage.rss() - before < 150 * 1024 * 1024, "memory is bounded");
    t.ok(slowest < 2000, `the slowest call meanwhile took ${Math.round(slowest)} ms`);
    t.equal(await host.result("evil", "alive"), "alive");
  });
}
