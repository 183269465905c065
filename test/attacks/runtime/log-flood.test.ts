import { inEachSetting, startAttacker } from "../../support/runtime/attacker.ts";
import { until } from "../../support/until.ts";

const FLOODS = {
  "the logger": `for (let i = 0; i < 20000; i++) context.logger.info("x".repeat(8000));`,
  "the logger's fields": `for (let i = 0; i < 200; i++) context.logger.info("x", { fields: "y".repeat(60000) });`,
  "the logger and both streams": `for (let i = 0; i < 2000; i++) {
    context.logger.info("line"); process.stdout.write("line\\n"); process.stderr.write("line\\n");
  }`,
};

inEachSetting("a plugin that floods the log writes no more than its limit", async (t, setting) => {
  const host = await startAttacker(t, {
    setting,
    descriptor: { resources: { timeout_seconds: 20 } },
  });
  for (const [name, code] of Object.entries(FLOODS)) {
    host.logs.length = 0;
    const started = performance.now();
    // A flood that is too wild ends the process.
    await host.call("evil", "run", { code });
    await until(() => host.logs.some(({ lines, msg }) => Number(lines) > 0 || msg.includes("needless frames")));
    const seconds = Math.ceil((performance.now() - started) / 1000) + 1;
    const own = host.logs.filter(({ plugin, code }) => plugin === "evil" && code === undefined);
    const bytes = own.reduce((sum, record) => sum + JSON.stringify(record).length, 0);
    t.ok(own.length <= 201 * seconds, `${name}: ${own.length} lines in ${seconds} s`);
    t.ok(bytes <= 400 * 1024 * seconds, `${name}: ${bytes} bytes in ${seconds} s`);
    t.equal(await host.result("victim", "alive"), "alive");
  }
});
