// Holds: what the health of a runtime says of each of its parts (lib/runtime/lifecycle/health.ts)
import t from "tap";
import { healthAnswer } from "../../../../lib/contract/surfaces/runtime.ts";
import { actions, startHost, trusted } from "../../../support/runtime/host.ts";

const SICK = "export default { actions: {}, healthCheck: () => false };";

t.test("health says of each plugin what is known of it, also of one that is not asked", async (t) => {
  const host = await startHost(t, {
    plugins: {
      rests: trusted("rests", actions("")),
      sick: trusted("sick", SICK),
      quiet: trusted("quiet", SICK, { runtime: { health_check: { enabled: false } } }),
      broken: trusted("broken", "this is not JavaScript"),
    },
  });
  await host.unload("rests");
  const { status, checks } = healthAnswer.parse((await host.system("GET", "/plugin/ipc/health")).body);
  t.equal(status, "degraded", "the others serve");
  t.match(checks, {
    "plugin:rests": { status: "healthy", message: "idle" },
    "plugin:sick": { status: "unhealthy" },
    "plugin:quiet": { status: "healthy", message: "loaded; its health check is switched off" },
    "plugin:broken": { status: "unhealthy", message: /SyntaxError/ },
    database: { status: "healthy", message: "none is configured" },
    cache: { status: "healthy", message: "ok" },
    modules: { status: "healthy", message: /hold \d+ bytes of source$/ },
  });
});
