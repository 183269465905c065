import { inEachSetting, startAttacker } from "../../support/runtime/attacker.ts";
import { isAlive } from "../../support/runtime/host.ts";

const LOOPS = [`for (;;);`, `for (;;) await null;`, `/(a+)+$/.test("a".repeat(40) + "b")`];

inEachSetting("an endless loop costs its own call, not the runtime, a sibling or the next call", async (t, setting) => {
  const host = await startAttacker(t, { setting, descriptor: { resources: { timeout_seconds: 0.5 } } });
  const { pid } = (await host.status("evil")) as { pid: number };
  for (const code of LOOPS) {
    const loop = host.call("evil", "run", { code });
    t.equal(await host.result("victim", "alive"), "alive");
    t.equal((await host.request("GET", "/healthz")).status, 200);
    t.match(await loop, { status: 500, body: { code: "timed_out" } }, code);
    t.equal(await host.result("evil", "alive"), "alive", "and it is back");
  }
  t.notOk(isAlive(pid));
});
