import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { examine } from "../../../lib/agent/doctor.ts";
import { systemdSupervisor } from "../../../lib/agent/supervisors/systemd.ts";
import { unitStates } from "../../../lib/agent/unit-states.ts";
import { layoutOf } from "../../../lib/releases/layout.ts";
import { readRelease, writeRelease } from "../../../lib/releases/release.ts";
import { install, prepareRelease } from "../../support/host/project-root.ts";
import { recordingProgram } from "../../support/programs/recording-program.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const systemd = { name: "systemd" as const, make: () => systemdSupervisor({ scope: "system", staysUpMs: 0 }) };

t.test("doctor asks the units of plugins and applications whether they run", async (t) => {
  const layout = layoutOf(temporaryFolder(t));
  const app = "command: [node, server.js]\n";
  const prepared = await prepareRelease(layout, "project-p", "1.0.0", {
    "plugins/tides/f": "a",
    "apps/web/app.yaml": app,
  });
  const record = (await readRelease(layout, "project-p", prepared.name))!;
  const restart = { id: "up", action: "restart" as const, plugin: "tides", depends_on: [], snapshot: false };
  await writeRelease(layout, "project-p", prepared.name, { ...record, steps: { stop: [], after: [restart] } });
  await install(prepared);
  await writeFile(
    join(layout.root, "applications.yaml"),
    "supervisor: systemd\napplications: { web: { user: web } }\n",
  );
  await recordingProgram(
    t,
    "systemctl",
    `case "$*" in *sealift-app@web*) echo LoadState=loaded; echo ActiveState=failed; echo NRestarts=0;; *show*) echo LoadState=loaded; echo ActiveState=active; echo NRestarts=0;; esac`,
  );
  t.same(await Array.fromAsync(unitStates(layout, systemd)), [
    { target: "project-p", unit: "tides", fault: undefined },
    { target: "project-p", unit: "apps/web", fault: "the unit sealift-app@web.service is failed" },
  ]);
  const findings = await Array.fromAsync(examine({ projectRoot: layout.root, supervisor: systemd }));
  t.match(
    findings.filter(({ check }) => check.startsWith("unit ")),
    [
      { check: "unit tides", status: "ok" },
      { check: "unit apps/web", status: "failed", message: "The unit sealift-app@web.service is failed" },
    ],
  );
  await writeFile(join(layout.root, "applications.yaml"), "applications: 3\n");
  t.match(await Array.fromAsync(unitStates(layout, { name: "none" })), [{ unit: "apps", fault: /is not valid/ }]);
});
