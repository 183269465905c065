// Holds: an app serve that ends in the middle of a deployment blames no version (lib/agent/deployment/supervision.ts)
// In a process of its own: it kills programs.
// Begins early: it waits for a minute.
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import type { AgentEvent } from "../../../lib/agent/base/events.ts";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { DEPLOY_DEFAULTS } from "../../../lib/agent/deployment/run.ts";
import { readQuarantine } from "../../../lib/releases/quarantine.ts";
import { rounds } from "../../support/effort.ts";
import { freePort } from "../../support/free-port.ts";
import { ApplicationRoot } from "../../support/host/application-root.ts";
import { versionOf } from "../../support/host/deploy-program.ts";
import { GIVEN_TARGET } from "../../support/host/given-source.ts";
import { ask, ServedRoot } from "../../support/host/served-root.ts";
import { until } from "../../support/until.ts";

/** Steps of a deployment, and times after them, in milliseconds. */
const MOMENTS = [
  ...[0, 100, 400, 1_000].map((afterMs) => ["restart", afterMs] as const),
  ...[0, 200, 500, 900].map((afterMs) => ["healthcheck", afterMs] as const),
];

for (const [restart, pauseMs] of [
  ["at once", 0],
  ["after 2 s", 2_000],
] as const)
  t.test(`whoever runs applications is killed in a good version's deployment, and comes back ${restart}`, async (t) => {
    const root = await ApplicationRoot.make(t);
    const port = await freePort();
    await root.grant({ web: { listen: { http: port } } });
    let served = await ServedRoot.start(t, root);
    const options = { ...DEPLOY_DEFAULTS, projectRoot: root.layout.root, hostId: "host" };
    const run = (version: string, hear: (event: AgentEvent) => void = () => undefined) =>
      deploy(versionOf(version, `r.end("${version}")`), { ...options, supervisor: { name: "none" } }, hear);
    t.match(await run("1.0.0"), { outcome: "deployed" });
    let before = "1.0.0";
    for (let round = 0; round < rounds(MOMENTS.length, 40); round++) {
      const [action, afterMs] = MOMENTS[round % MOMENTS.length]!;
      const version = `${round + 2}.0.0`;
      let killing: Promise<void> | undefined;
      const kill = async (): Promise<void> => {
        await sleep(afterMs);
        await served.end("SIGKILL");
        await sleep(pauseMs);
        served = await ServedRoot.start(t, root);
      };
      const result = await run(version, (event) => {
        if (event.event === "step.started" && event.action === action) killing ??= kill();
      });
      await killing;
      t.comment(`${action} +${afterMs}: ${result.outcome} ${result.error?.code} ${result.error?.message}`);
      t.same(await readQuarantine(root.layout, GIVEN_TARGET), [], `${version}: ${action} + ${afterMs} ms`);
      const expected = result.outcome === "deployed" ? version : before;
      await until(async () => (await ask(port)) === expected);
      if (result.outcome !== "deployed") t.match(await run(version), { outcome: "deployed" });
      before = version;
    }
  });
