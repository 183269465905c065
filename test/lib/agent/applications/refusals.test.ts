// Holds: which releases are in use, and what a root without applications may (lib/agent/applications/in-use.ts,
// lib/agent/applications/root-supervisor.ts, lib/agent/applications/not-allowed.ts,
// lib/agent/applications/admission.ts)
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { admitApplications } from "../../../../lib/agent/applications/admission.ts";
import { releasesTypedIn } from "../../../../lib/agent/applications/in-use.ts";
import { notAllowed } from "../../../../lib/agent/applications/not-allowed.ts";
import { supervisorOfRoot, withApplications } from "../../../../lib/agent/applications/root-supervisor.ts";
import type { Supervisor } from "../../../../lib/agent/supervisors/supervisor.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { recordingProgram } from "../../../support/programs/recording-program.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

t.test("a root without applications needs no applications.yaml", async (t) => {
  const layout = layoutOf(temporaryFolder(t));
  const supervisor = { name: "none" } as const;
  const request = { layout, running: new Set<string>(), supervisor, signal: new AbortController().signal };
  t.equal(await admitApplications({ ...request, apps: new Map() }), undefined);
  await t.rejects(supervisorOfRoot(layout, supervisor), { code: "app_not_allowed", message: /^There is no app/ });
  const calls: string[] = [];
  const told = (what: string) => async (unit: string | null) => void calls.push(`${what} ${unit}`);
  const plugins: Supervisor = {
    ...{ start: told("start"), stop: told("stop"), restart: told("restart") },
    ...{ ready: async () => undefined, check: async () => "it is ill" },
  };
  const all = withApplications(plugins, layout, supervisor);
  for (const unit of [null, "a"]) {
    t.equal(await all.passes?.(unit as string), false);
    await all.start(unit);
    await all.recover(unit);
    t.strictSame(await all.look?.(unit, 1, request.signal), { fault: "it is ill", restarts: 0 });
  }
  t.strictSame(calls, ["start null", "restart null", "start a", "restart a"]);
});

t.test("a refusal lists faults where there are any", (t) => {
  t.match(notAllowed("no", ["a fault"]), { code: "app_not_allowed", faults: ["a fault"] });
  t.equal(notAllowed("no").faults, undefined);
  t.end();
});

t.test("releases in which units of app run run are in use, and silence is no answer", async (t) => {
  const root = temporaryFolder(t);
  await writeFile(join(root, "applications.yaml"), "supervisor: systemd\napplications: {}\n");
  const at = (target: string, release: string) =>
    `WorkingDirectory=!${root}/.sealift/releases/${target}/${release}/apps/web`;
  const script = `[ -e $STATE/away ] && exit 1; touch $STATE/away; printf '%s\\n' '${at("project-p", "r1")}' '${at("project-q", "r2")}'`;
  await recordingProgram(t, "systemctl", script);
  t.strictSame([...(await releasesTypedIn(layoutOf(root), "project-p"))], ["r1"]);
  await t.rejects(releasesTypedIn(layoutOf(root), "project-p"), { message: /^`systemctl .*sealift-run-\*.*` failed$/ });
});
