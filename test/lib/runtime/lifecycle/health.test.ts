// Holds: what the health of a runtime says of each of its parts (lib/runtime/lifecycle/health.ts)
// Holds: how often a plugin is asked how it is, and what is logged (lib/runtime/lifecycle/health-monitor.ts)
import t from "tap";
import { healthAnswer } from "../../../../lib/contract/surfaces/runtime.ts";
import type { Catalogue } from "../../../../lib/runtime/catalogue/catalogue.ts";
import { diagnose } from "../../../../lib/runtime/lifecycle/health.ts";
import type { Watchdog } from "../../../../lib/runtime/watchdog/watchdog.ts";
import { actions, startHost, trusted } from "../../../support/runtime/host.ts";
import { until } from "../../../support/until.ts";

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

const COUNTS = `let [asked, isWell] = [0, true];
export default { actions: { asked: () => asked, turn: () => void (isWell = !isWell) }, healthCheck: () => (asked++, isWell) };`;

t.test("a reload that failed degrades a plugin that works, and hides no illness", async (t) => {
  const plugins = { sick: trusted("sick", COUNTS), well: trusted("well", COUNTS) };
  const host = await startHost(t, { plugins });
  await host.result("sick", "turn");
  for (const name of Object.keys(plugins)) {
    host.install(name, trusted(name, "this is not JavaScript"));
    t.not((await host.reload(name)).status, 200);
  }
  const { checks } = healthAnswer.parse((await host.system("GET", "/plugin/ipc/health")).body);
  t.match(checks, {
    "plugin:sick": { status: "unhealthy" },
    "plugin:well": { status: "degraded", message: /running version goes on/ },
  });
});

t.test("a plugin is asked at its own interval, and only a change is logged", async (t) => {
  const asks = (health_check: object) => ({ runtime: { health_check } });
  const host = await startHost(t, {
    plugins: {
      often: trusted("often", COUNTS, asks({ enabled: true, interval_seconds: 1 })),
      rarely: trusted("rarely", COUNTS, asks({ enabled: true, interval_seconds: 3600 })),
      never: trusted("never", COUNTS, asks({ enabled: false, interval_seconds: 1 })),
      fallen: trusted("fallen", COUNTS, asks({ enabled: true, interval_seconds: 1 })),
      late: trusted("late", "this is not JavaScript", asks({ enabled: true, interval_seconds: 3600 })),
    },
  });
  const told = (name = "often") =>
    host.logs.filter(({ plugin, msg }) => plugin === name && msg.startsWith("plugin health"));
  const asked = async (plugin: string): Promise<number> => (await host.result(plugin, "asked")) as number;
  await host.result("fallen", "turn");
  await until(async () => (await asked("often")) >= 4);
  t.strictSame([await asked("rarely"), await asked("never")], [2, 0], "when it was loaded, and once since");
  t.strictSame(told(), []);
  t.match(told("fallen"), [{ status: "unhealthy" }], "an illness is told at the first time, too, and once");
  await host.result("often", "turn");
  const before = await asked("often");
  await until(async () => (await asked("often")) >= before + 3);
  t.match(told(), [{ status: "unhealthy" }]);
  await host.result("often", "turn");
  await until(() => told().length > 1);
  t.match(told(), [{ status: "unhealthy" }, { status: "healthy" }]);
  host.install("late", trusted("late", COUNTS, asks({ enabled: true, interval_seconds: 3600 })));
  t.equal((await host.load("late")).status, 200);
  await until(async () => (await asked("late")) === 2);
});

t.test("a blocked event loop is told of for a minute, with the plugin that ran", async (t) => {
  const found = async (agoMs: number, plugin?: string) => {
    const last = { seconds: 3, plugin, endedAtMs: performance.now() - agoMs };
    const { checks } = await diagnose({
      ...{ services: new Map(), catalogue: { all: [] } as unknown as Catalogue, watchdog: { last } as Watchdog },
      ...{
        maxGenerationBytes: 1,
        wall: { wall: undefined, reason: "none" },
        groups: { groups: undefined, reason: "none" },
      },
    });
    return checks["event_loop"];
  };
  t.match(await found(59_000, "slow"), { status: "degraded", message: /for 3 s while the trusted plugin slow ran$/ });
  t.match(await found(59_000), { status: "degraded", message: /for 3 s$/ });
  t.match(await found(61_000, "slow"), { status: "healthy", message: "ok" });
});
