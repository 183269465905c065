import t from "tap";
import { actions, startHost, trusted } from "../../../support/runtime/host.ts";

const ECHO = actions(`echo: (payload) => payload`);

t.test(
  "an action of a trusted plugin that takes too long is answered with 500 and told through its signal",
  async (t) => {
    const source = actions(`
    slow: (_p, { signal }) => new Promise((resolve) => { signal.addEventListener("abort", () => { globalThis.aborted = signal.reason.code; }); }),
    fast: () => 1`);
    const host = await startHost(t, {
      plugins: { plug: trusted("plug", source, { resources: { timeout_seconds: 0.2 } }) },
    });
    t.match(await host.call("plug", "slow"), { status: 500, body: { code: "timed_out" } });
    t.equal((globalThis as { aborted?: string }).aborted, "timed_out");
    t.equal(await host.result("plug", "fast"), 1);
  },
);

t.test("a plugin that throws while it loads hurts neither the boot nor the others", async (t) => {
  const host = await startHost(t, {
    plugins: {
      throws: trusted("throws", "throw new Error('at the top')"),
      rejects: trusted("rejects", "await Promise.reject(new Error('later'))"),
      onLoad: trusted("onLoad", "export default { actions: {}, onLoad: async () => { throw new Error('in onLoad') } }"),
      missing: trusted("missing", "import 'not-there'; export default { actions: {} }"),
      router: trusted(
        "router",
        "export default { router: async (app) => { app.get('/a', () => 1); app.get('/a', () => 2); } }",
      ),
      good: trusted("good", ECHO),
    },
  });
  for (const name of ["throws", "rejects", "onLoad", "missing", "router"]) {
    t.match(await host.status(name), { state: "error", error_code: "load_failed" }, name);
  }
  t.equal((await host.call("good", "echo")).status, 200);
});
