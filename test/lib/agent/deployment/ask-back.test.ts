// Holds: a check that takes longer than the asking blames nobody (lib/agent/deployment/ask-back.ts)
import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { askBack, errorOfBack, GoneBack } from "../../../../lib/agent/deployment/ask-back.ts";
import { beginRun, DEPLOY_DEFAULTS } from "../../../../lib/agent/deployment/run.ts";
import { deploymentError } from "../../../../lib/contract/errors.ts";
import { applicationHost, appSource } from "../../../support/host/application-host.ts";

for (const [fault, state] of [
  [undefined, "answers"],
  ["it answered 500", "silent"],
] as const)
  t.test(`when time is up, a last look decides: ${state}`, async (t) => {
    const h = await applicationHost(t);
    t.match(await h.run(appSource("1.0.0")), { outcome: "deployed" });
    const supervisor = {
      ...h.pretended.supervisor(),
      // As `stays_up: 10m` has it.
      check: (_unit: string | null, _timeoutMs: number, signal?: AbortSignal) =>
        sleep(600_000, undefined, signal && { signal }),
      look: async () => ({ restarts: 0, ...(fault !== undefined && { fault }) }),
    };
    const options = { ...DEPLOY_DEFAULTS, ...h.options };
    const choice = { name: "none" as const, applications: async () => supervisor };
    const run = beginRun(appSource("2.0.0"), { ...options, supervisor: choice }, () => undefined);
    const gone = new GoneBack(deploymentError("unhealthy", "It answered 500."), { units: ["apps/web"], untold: [] });
    t.match(await askBack(run, gone, undefined, 100), { state, ...(fault && { units: { "apps/web": fault } }) });
  });

t.test("what a supervisor was not told to restart is not asked before it is", async (t) => {
  const h = await applicationHost(t);
  t.match(await h.run(appSource("1.0.0")), { outcome: "deployed" });
  const gone = new GoneBack(deploymentError("unhealthy", "It answered 500."), {
    units: ["apps/web"],
    untold: ["apps/web"],
  });
  for (const [refusals, code, says] of [
    [2, "supervisor_unavailable", { state: "answers" }],
    [
      Infinity,
      "supervisor_unavailable",
      { state: "silent", units: { "apps/web": /was not restarted: systemd is away/ } },
    ],
    [1, "supervisor_failed", { state: "silent", units: { "apps/web": /was not restarted: systemd is away/ } }],
  ] as const) {
    const heard: string[] = [];
    let left: number = refusals;
    const supervisor = {
      ...h.pretended.supervisor(),
      restart: async () => {
        heard.push("restart");
        if (left-- > 0) throw deploymentError(code, "systemd is away.");
      },
      check: async () => void heard.push("check"),
    };
    const choice = { name: "none" as const, applications: async () => supervisor };
    const options = { ...DEPLOY_DEFAULTS, ...h.options, supervisor: choice };
    const run = beginRun(appSource("2.0.0"), options, () => undefined);
    t.match(await askBack(run, gone, undefined, 3000), says);
    t.equal(heard.includes("check"), says.state === "answers");
    if (says.state === "answers") t.same(heard, ["restart", "restart", "restart", "check"]);
  }
});

t.test("an application that was installed by hand is not said to be back", (t) => {
  const gone = new GoneBack(deploymentError("unhealthy", "It answered 500."), { units: [], untold: [] }, ["apps/web"]);
  const { code, message } = errorOfBack(gone, { state: "answers" });
  t.equal(code, "rolled_back");
  t.equal(message, "It answered 500. The previous release is installed again; start apps/web yourself, as before.");
  t.end();
});
