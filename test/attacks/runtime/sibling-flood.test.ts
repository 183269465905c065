// Only in test:all: it starts many sandboxes, 5 s of a processor.
import t from "tap";
import { startAttacker } from "../../support/runtime/attacker.ts";
import { actions, sandboxed } from "../../support/runtime/host.ts";
import { until } from "../../support/until.ts";

/** A plugin that may speak to another one must not end that one by sending more than it can read. */

const EVENTS = 12;
const resources = { timeout_seconds: 60, max_memory_mb: 768 };

const VICTIM = actions(
  `
  heard: () => heard,
  // Its loop stands still, and nothing is read, until the test says so.
  work: (_payload, { dataDir }) => {
    const end = Date.now() + 50_000;
    while (!existsSync(dataDir + "/enough") && Date.now() < end);
    return "worked";
  },
  `,
  `import { existsSync } from "node:fs";
   let heard = 0;
   export const onLoad = (context) => context.events.on("flood", () => { heard++; });`,
).replace("export default {", "export default { onLoad,");

const FLOOD = `
  const large = "x".repeat(8_000_000);
  for (let event = 0; event < ${EVENTS}; event++) await context.events.emit("flood", large);
  return await context.call("victim", "heard", large).then(() => "answered", ({ code }) => code);`;

t.test("a plugin that is busy while another one floods it loses messages, and goes on", async (t) => {
  const permissions = [
    { resource: "events:flood", actions: ["emit"] },
    { resource: "plugin:victim", actions: ["heard"] },
  ];
  const listens = [{ resource: "events:flood", actions: ["listen"] }];
  const host = await startAttacker(t, {
    descriptor: { permissions, resources },
    plugins: { victim: sandboxed("victim", VICTIM, { permissions: listens, resources }) },
  });
  const { pid } = (await host.status("victim")) as { pid: number };
  const work = host.result("victim", "work");
  t.match(await host.attack(FLOOD), { done: "rate_limited" }, "who sends too much is refused");
  host.write("plugins/victim/data/enough", "");
  t.equal(await work, "worked");
  await until(async () => (await host.call("victim", "heard")).status === 200);
  const heard = (await host.result("victim", "heard")) as number;
  const dropped = await host.counter('sealift_frames_dropped_total{plugin="victim",reason="unread"}');
  t.ok(heard > 0 && dropped > 0);
  t.equal(heard + dropped, EVENTS, "what it did not get is counted");
  t.match(await host.status("victim"), { pid, restarts: 0, state: "loaded" });
});
