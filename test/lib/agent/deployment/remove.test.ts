import { existsSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { deploy } from "../../../../lib/agent/deployment/deploy.ts";
import { previewRemoval, removeTarget } from "../../../../lib/agent/deployment/remove.ts";
import { DEPLOY_DEFAULTS } from "../../../../lib/agent/deployment/run.ts";
import { systemdSupervisor } from "../../../../lib/agent/supervisors/systemd.ts";
import { readPin, writePin } from "../../../../lib/agent/watch/state.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { quarantine, readQuarantine } from "../../../../lib/releases/quarantine.ts";
import { listReleases } from "../../../../lib/releases/release.ts";
import { GIVEN_TARGET as TARGET, INSTALL, sourceOf } from "../../../support/host/given-source.ts";
import { recordingProgram } from "../../../support/programs/recording-program.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const slug = TARGET.slice("project-".length);
/** Its plan restarts the plugin's unit. */
const STEPS = `${INSTALL}\n  - {id: up, action: restart, plugin: a}`;
const systemd = { name: "systemd" as const, make: () => systemdSupervisor({ scope: "system", staysUpMs: 100 }) };

t.test("a removed target is stopped and gone, and what the host wrote itself stays until it is purged", async (t) => {
  const calls = await recordingProgram(t, "systemctl", "");
  const root = temporaryFolder(t);
  const layout = layoutOf(root);
  const options = { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor: systemd };
  for (const version of ["1.0.0", "2.0.0"]) await deploy(sourceOf(version, STEPS), options, () => undefined);
  const other = { slug: "prj_9876543210", plugin: "b", target: "project-prj_9876543210" as const };
  await deploy(sourceOf("1.0.0", STEPS.replaceAll("plugin: a", "plugin: b"), other), options, () => undefined);
  await writeFile(join(root, "plugins/a/data/mine"), "kept");
  const at = new Date().toISOString();
  await writePin(layout, TARGET, { version: "2.0.0", reason: null, at });
  await quarantine(layout, TARGET, { version: "3.0.0", identity: null, code: "unhealthy", reason: "it fell", at });

  const preview = await previewRemoval(layout, { kind: "project", slug, purge: false }, systemd);
  t.match(preview, { version: "2.0.0", releases: 2, units: ["a"] });
  t.equal(preview.paths.length, 2);
  const whole = await previewRemoval(layout, { kind: "project", slug, purge: true }, systemd);
  t.ok(
    whole.paths.includes(layout.data({ section: "plugins", id: "a" })) && whole.paths.every((path) => existsSync(path)),
  );
  t.notOk(
    (await calls()).some((call) => call.includes("stop")),
    "a preview stops nothing",
  );
  t.equal((await listReleases(layout, TARGET)).length, 2);
  const events: string[] = [];
  const removed = await removeTarget({ kind: "project", slug, purge: false }, options, ({ event }) =>
    events.push(event),
  );
  t.same(removed, { version: "2.0.0", releases: 2 });
  t.notOk(events.includes("deploy.started"), "it says nothing of a deployment");
  t.ok((await calls()).some((call) => call.includes("stop") && call.includes("sealift-plugin-a")));
  t.notOk((await calls()).some((call) => call.includes("stop") && call.includes("sealift-plugin-b")));
  t.notOk(existsSync(join(root, "plugins/a")));
  t.notOk(existsSync(layout.current(TARGET)));
  t.same(await listReleases(layout, TARGET), []);
  t.equal(await readPin(layout, TARGET), null);
  t.same(await readQuarantine(layout, TARGET), []);
  t.ok(existsSync(join(root, "plugins/b/version")), "another target stays");
  const data = join(layout.data({ section: "plugins", id: "a" }), "mine");
  t.ok(existsSync(data));
  t.equal((await readdir(layout.reports(TARGET))).filter((name) => name.endsWith(".json")).length, 2);

  t.equal((await deploy(sourceOf("2.0.0", STEPS), options, () => undefined)).outcome, "deployed", "it may come back");
  t.ok(existsSync(join(root, "plugins/a/data/mine")), "to its data");
  await removeTarget({ kind: "project", slug, purge: true }, options, () => undefined);
  t.notOk(existsSync(data));
  t.notOk(existsSync(layout.reports(TARGET)));
});

t.test("nothing is removed when a unit cannot be stopped", async (t) => {
  await recordingProgram(
    t,
    "systemctl",
    'case "$*" in *show*) echo LoadState=loaded; echo ActiveState=failed; echo Result=exit-code;; *stop*) echo no >&2; exit 1;; esac',
  );
  const root = temporaryFolder(t);
  const options = { ...DEPLOY_DEFAULTS, projectRoot: root, hostId: "host", supervisor: systemd };
  await deploy(sourceOf("1.0.0", STEPS), options, () => undefined);
  await t.rejects(
    removeTarget({ kind: "project", slug, purge: true }, options, () => undefined),
    {
      code: "supervisor_failed",
    },
  );
  t.ok(existsSync(join(root, "plugins/a/version")));
  t.equal((await listReleases(layoutOf(root), TARGET)).length, 1);
});
