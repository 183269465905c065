// Holds: what cannot be stopped keeps nobody from being asked (lib/agent/health/withdrawn.ts)
// In a process of its own: it watches processes for seconds.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import type { HealthTimes } from "../../../../lib/agent/health/health-watch.ts";
import { AppServe } from "../../../../lib/apps/serve.ts";
import { sickApplication } from "../../../support/host/sick-application.ts";
import { givenTarget, watching } from "../../../support/host/watching.ts";

const TIMES: HealthTimes = { everyMs: 200, quietMs: 3_000 };

for (const [what, restarts] of [
  ["an app serve that never knew it", true],
  ["no app serve at all", false],
] as const)
  t.test(`a grant that was withdrawn while the watch was away, and ${what}`, async (t) => {
    const h = await sickApplication(t);
    const target = givenTarget(h.root, { steps: h.steps, given: h.given, intervalMs: 60_000 });
    target.publish("1.0.0");
    const first = watching(t, [target], undefined, undefined, TIMES);
    await first.until("deploy.done", { outcome: "deployed" });
    await first.stop();
    await h.served[Symbol.asyncDispose]();
    await writeFile(join(h.root, "applications.yaml"), "supervisor: serve\napplications: {}\n");
    if (restarts) {
      const again = await AppServe.start(h.layout, () => undefined);
      t.teardown(() => again[Symbol.asyncDispose]());
    }
    const w = watching(t, [target], undefined, undefined, TIMES);
    t.match(await w.until("health.changed"), { state: "unhealthy", message: /apps\/web: / });
  });
