import t from "tap";
import { startAttacker } from "../../support/runtime/attacker.ts";
import { isAlive } from "../../support/runtime/host.ts";

t.test("an endless loop costs its own call, not the runtime, a sibling or the next call", async (t) => {
  const host = await startAttacker(t, { descriptor: { resources: { timeout_seconds: 0.5 } } });
  const { pid } = (await host.status("evil")) as { pid: number };
  for (const code of [`for (;;);`, `for (;;) await null;`, `/(a+)+$/.test("a".repeat(40) + "b")`]) {
    const loop = host.call("evil", "run", { code });
    const started = performance.now();
    t.equal(await host.result("victim", "alive"), "alive");
    t.equal((await host.request("GET", "/healthz")).status, 200);
    t.ok(performance.now() - started < 400, "others are answered meanwhile");
    t.match(await loop, { status: 500, body: { code: "timed_out" } }, code);
    t.equal(await host.result("evil", "alive"), "alive", "and it is back");
  }
  t.notOk(isAlive(pid));
});
