import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import type { AgentEvent } from "../../../../lib/agent/base/events.ts";
import { deploy } from "../../../../lib/agent/deployment/deploy.ts";
import { previewRollback } from "../../../../lib/agent/deployment/preview.ts";
import { rollback } from "../../../../lib/agent/deployment/rollback.ts";
import { DEPLOY_DEFAULTS, type DeployOptions } from "../../../../lib/agent/deployment/run.ts";
import { readReports } from "../../../../lib/agent/reports/report.ts";
import { systemdSupervisor } from "../../../../lib/agent/supervisors/systemd.ts";
import { inspectTarget } from "../../../../lib/agent/target-status.ts";
import { decideDeployment } from "../../../../lib/agent/watch/decide.ts";
import { readDeployed } from "../../../../lib/releases/deployed.ts";
import { readJournal } from "../../../../lib/releases/journal.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { acquireLock } from "../../../../lib/releases/lock.ts";
import { readQuarantine, releaseLeft } from "../../../../lib/releases/quarantine.ts";
import { listReleases } from "../../../../lib/releases/release.ts";
import { GIVEN_TARGET as TARGET, INSTALL, sourceOf } from "../../../support/host/given-source.ts";
import { recordingProgram } from "../../../support/programs/recording-program.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const SLUG = TARGET.slice("project-".length);
/** Calls that do something, without those that ask the supervisor whether it works. */
const acts = (calls: readonly string[]): string[] => calls.filter((call) => !call.includes("list-jobs"));
const systemd = { name: "systemd" as const, make: () => systemdSupervisor({ scope: "system", staysUpMs: 100 }) };
const HEALTHY = 'case "$*" in *show*) echo LoadState=loaded; echo ActiveState=active; echo NRestarts=0;; esac';
const STEPS = `${INSTALL}
  - {id: up, action: restart, plugin: a}
  - {id: ok, action: healthcheck, plugin: a, timeout: 5, retries: 0}`;

/** A host on which these versions were deployed, one after another. */
async function hostWith(t: Test, versions: readonly string[], supervisor: DeployOptions["supervisor"]) {
  const root = temporaryFolder(t);
  const layout = layoutOf(root);
  const events: AgentEvent[] = [];
  const options: DeployOptions = {
    ...DEPLOY_DEFAULTS,
    projectRoot: root,
    hostId: "host",
    supervisor,
    durability: "none",
  };
  const own = supervisor.name === "none" ? INSTALL : STEPS;
  const run = async (version: string, steps = own, more: Partial<DeployOptions> = {}): Promise<void> => {
    const result = await deploy(sourceOf(version, steps), { ...options, ...more }, () => undefined);
    t.equal(result.outcome, "deployed", result.error?.message ?? version);
  };
  for (const version of versions) await run(version);
  return {
    ...{ root, layout, events, run },
    back: (to?: string, more: Partial<DeployOptions> = {}) =>
      rollback({ kind: "project", slug: SLUG, to }, { ...options, ...more }, (event) => events.push(event)),
    preview: (to?: string) => previewRollback({ kind: "project", slug: SLUG, to }, options, () => undefined),
    reports: () => readReports(layout, TARGET, 100),
    version: () => readFile(join(root, "plugins/a/version"), "utf8"),
    kept: async () => (await listReleases(layout, TARGET)).map(({ version }) => version),
  };
}

t.test("it goes back to the release before, offline, and further back, and keeps all of them", async (t) => {
  const h = await hostWith(t, ["1.0.0", "2.0.0", "3.0.0"], { name: "none" });
  t.match(await h.back(), { status: "success", outcome: "deployed", version: "2.0.0", previous_version: "3.0.0" });
  t.equal(await h.version(), "2.0.0");
  t.match(await h.back(), { outcome: "deployed", version: "1.0.0" });
  const nothing = { outcome: "failed", report: null, error: { code: "no_release", exitCode: 1 } };
  t.match(await h.back(), nothing, "nothing is older");
  t.equal(await h.version(), "1.0.0");
  t.same(await h.kept(), ["3.0.0", "2.0.0", "1.0.0"]);
  t.match((await h.reports())[0], { status: "success", requested_version: "previous", resolved_version: "1.0.0" });
  t.equal((await inspectTarget(h.layout, TARGET)).unsentReports, 2, "the next run sends the reports");
});

t.test("a release or a version can be named, and what is not kept is refused with what is", async (t) => {
  const h = await hostWith(t, ["1.0.0", "2.0.0"], { name: "none" });
  t.match(await h.back("2.0.0"), { outcome: "unchanged" });
  const reports = (await h.reports()).length;
  t.match(await h.back("9.9.9"), { report: null, error: { code: "no_release", hint: /2\.0\.0.*1\.0\.0/ } });
  t.equal((await h.reports()).length, reports, "what was never begun is not a report");
  const name = (await listReleases(h.layout, TARGET)).at(-1)!.name;
  t.match(await h.back(name), { outcome: "deployed", version: "1.0.0", release: name });
});

t.test("units are restarted and checked as the release's own plan did", async (t) => {
  await recordingProgram(t, "systemctl", HEALTHY);
  const h = await hostWith(t, ["1.0.0", "2.0.0"], systemd);
  const calls = await recordingProgram(t, "systemctl", HEALTHY);
  t.match(await h.back(), { outcome: "deployed", version: "1.0.0" });
  const said = acts(await calls());
  t.match(said[0], /restart sealift-plugin-a/);
  t.match(said[1], /show.*sealift-plugin-a/);
  const [report] = await h.reports();
  t.match(report!.steps, [
    { id: "up", status: "done" },
    { id: "ok", status: "done" },
  ]);
});

t.test("a version that is deployed again is not what a rollback goes to, and pushes no older one out", async (t) => {
  const h = await hostWith(t, ["1.0.0", "2.0.0"], { name: "none" });
  for (let again = 0; again < 4; again++) await h.run("2.0.0", INSTALL, { reinstall: true });
  t.same(await h.kept(), ["2.0.0", "2.0.0", "1.0.0"], "of the running version one earlier release stays");
  const repeat = (await listReleases(h.layout, TARGET))[1]!.name;
  t.match(await h.back("2.0.0"), { outcome: "unchanged" });
  t.match(await h.back(repeat), { outcome: "deployed", version: "2.0.0", release: repeat }, "its name asks for it");
  t.match(await h.back(), { outcome: "deployed", version: "1.0.0", previous_version: "2.0.0" });
});

t.test("what was left by a rollback is not gone back to later", async (t) => {
  const h = await hostWith(t, ["1.0.0", "2.0.0"], { name: "none" });
  await h.back();
  await h.run("3.0.0");
  t.match(await h.back(), { outcome: "deployed", version: "1.0.0" });
});

t.test("a unit runs afterwards although the plan of the kept release does not name it", async (t) => {
  await recordingProgram(t, "systemctl", HEALTHY);
  const h = await hostWith(t, [], systemd);
  await h.run("1.0.0", INSTALL);
  await h.run("2.0.0");
  const calls = await recordingProgram(t, "systemctl", HEALTHY);
  t.match(await h.preview(), {
    outcome: "would_deploy",
    ...{ version: "1.0.0", previous_version: "2.0.0" },
    changes: { steps: [{ id: "restart-a", after_switch: true }, { id: "healthcheck-a" }] },
  });
  t.same(acts(await calls()), [], "a preview touches nothing");
  t.match(await h.back(), { outcome: "deployed", version: "1.0.0" });
  t.match(acts(await calls()), [/restart sealift-plugin-a/, /show.*sealift-plugin-a/, /show.*sealift-plugin-a/]);
});

t.test("a kept release whose plan needs a supervisor is refused without one, before anything changes", async (t) => {
  await recordingProgram(t, "systemctl", HEALTHY);
  const h = await hostWith(t, ["1.0.0", "2.0.0"], systemd);
  const refused = await h.back(undefined, { supervisor: { name: "none" } });
  t.match(refused, { outcome: "failed", report: null, error: { code: "needs_supervisor", exitCode: 2 } });
  t.equal(await h.version(), "2.0.0");
});

t.test("without a supervisor it says that nothing was restarted", async (t) => {
  const h = await hostWith(t, ["1.0.0", "2.0.0"], { name: "none" });
  await h.back();
  t.ok(h.events.some((event) => event.event === "warning" && /nothing is restarted/.test(event.message)));
});

t.test("a supervisor that is away ends it with 75, and nothing is switched", async (t) => {
  await recordingProgram(t, "systemctl", HEALTHY);
  const h = await hostWith(t, ["1.0.0", "2.0.0"], systemd);
  await recordingProgram(t, "systemctl", "exit 1");
  t.match(await h.back(), { outcome: "failed", error: { code: "supervisor_unavailable", exitCode: 75 } });
  t.equal(await h.version(), "2.0.0");
  t.match(await h.preview(), { outcome: "failed", error: { code: "supervisor_unavailable" } });
});

t.test("a kept release whose files were changed is refused, and nothing is switched", async (t) => {
  const h = await hostWith(t, ["1.0.0", "2.0.0"], { name: "none" });
  const { name } = (await listReleases(h.layout, TARGET)).at(-1)!;
  await writeFile(join(h.layout.release(TARGET, name), "plugins/a/version"), "hacked");
  t.match(await h.back(), { outcome: "failed", error: { code: "release_damaged", exitCode: 1 } });
  t.equal(await h.version(), "2.0.0");
  t.match(await h.preview(), { outcome: "failed", error: { code: "release_damaged" } });
});

t.test("a plan that names a unit which is gone brings back what ran", async (t) => {
  await recordingProgram(t, "systemctl", HEALTHY);
  const h = await hostWith(t, [], systemd);
  await h.run("1.0.0", `${STEPS}\n  - {id: gone, action: restart}`);
  await h.run("2.0.0");
  const calls = await recordingProgram(
    t,
    "systemctl",
    `case "$*" in *show*sealift-project*) echo LoadState=not-found; exit 0;; *sealift-project*) exit 5;; esac; ${HEALTHY}`,
  );
  t.match(await h.back(), { outcome: "rolled_back", error: { code: "rolled_back", exitCode: 6 } });
  t.equal(await h.version(), "2.0.0");
  t.match((await h.reports())[0], { status: "rolled_back", code: "supervisor_failed", running_version: "2.0.0" });
  t.match(
    acts(await calls()).join("\n"),
    /restart sealift-project\n[^]*restart sealift-plugin-a/,
    "what ran is started again",
  );
});

t.test("a target that was never deployed has nothing to go back to", async (t) => {
  const h = await hostWith(t, [], { name: "none" });
  t.match(await h.back(), { outcome: "failed", report: null, error: { code: "no_release", hint: /nothing is kept/ } });
  t.same(await h.reports(), []);
});

t.test("a rollback waits for the deployment under way, and no longer than it may", async (t) => {
  const h = await hostWith(t, ["1.0.0", "2.0.0"], { name: "none" });
  await using _busy = await acquireLock(h.layout.targetLock(TARGET), {
    waitMs: 0,
    signal: new AbortController().signal,
  });
  t.match(await h.back(undefined, { lockWaitMs: 0 }), { error: { code: "root_busy", exitCode: 75 } });
  t.equal(await h.version(), "2.0.0");
});

t.test("a rollback that ends at any of its events leaves a whole release, and the next run goes on", async (t) => {
  const h = await hostWith(t, ["1.0.0", "2.0.0"], { name: "none" });
  await h.back();
  await h.back("2.0.0");
  const count = h.events.length / 2;
  for (let dieAt = 0; dieAt < count; dieAt++) {
    const program = fileURLToPath(new URL("../../../support/programs/rollback-and-die.ts", import.meta.url));
    const { signal } = spawnSync(process.execPath, [program, String(dieAt), h.root, SLUG, "1.0.0"]);
    t.equal(signal, "SIGKILL", `at event ${dieAt}`);
    t.match(await h.version(), /^[12]\.0\.0$/);
    t.match(await h.back("2.0.0"), { status: "success", version: "2.0.0" });
    t.equal(await readJournal(h.layout), undefined);
    t.same(await h.kept(), ["2.0.0", "1.0.0"], "no release is lost");
  }
});

t.test("the settings of the last deployment and what has run are kept with the target", async (t) => {
  const h = await hostWith(t, [], { name: "none" });
  await h.run("1.0.0", INSTALL, { settings: { host_id: "one", supervisor: "none" } });
  await h.run("2.0.0", INSTALL, { settings: { host_id: "two", supervisor: "none" } });
  t.match(await readDeployed(h.layout, TARGET), {
    settings: { host_id: "two" },
    ran: [{ version: "1.0.0" }, { version: "2.0.0" }],
  });
  await h.back(undefined, { settings: { host_id: "three" } });
  const { settings, ran } = (await readDeployed(h.layout, TARGET))!;
  t.same(settings, { host_id: "three" });
  t.match(ran, [{ version: "2.0.0" }, { version: "1.0.0", release: /^1\.0\.0-/ }]);
});

t.test("a kept release that does not work is left again, and still kept", async (t) => {
  await recordingProgram(t, "systemctl", HEALTHY);
  const h = await hostWith(t, ["1.0.0", "2.0.0"], systemd);
  await recordingProgram(
    t,
    "systemctl",
    'case "$*" in *restart*) [ -e $STATE/x ] || { touch $STATE/x; exit 1; };; esac',
  );
  const result = await h.back();
  t.match(result, { outcome: "rolled_back", error: { code: "rolled_back", exitCode: 6 } });
  t.equal(await h.version(), "2.0.0");
  t.same(await h.kept(), ["2.0.0", "1.0.0"], "a failed try removes no kept release");
  t.equal(await readJournal(h.layout), undefined);
  t.same(await readQuarantine(h.layout, TARGET), [], "what runs again is not held back");
});

t.test("a watch leaves the version alone that was left, until a newer one or resume", async (t) => {
  const h = await hostWith(t, ["1.0.0", "2.0.0"], { name: "none" });
  await h.back();
  const decision = async (version: string) =>
    decideDeployment({
      ...{ running: "1.0.0", paused: false, damaged: false, allowDowngrade: false, ran: new Set() },
      latest: { version, identity: `signature of ${version}`, yanked: [] },
      quarantine: await readQuarantine(h.layout, TARGET),
    });
  t.match(await decision("2.0.0"), { do: "hold", reason: "quarantined", message: /went back from it to 1\.0\.0/ });
  t.match(await decision("2.1.0"), { do: "deploy" });
  await releaseLeft(h.layout, TARGET);
  t.match(await decision("2.0.0"), { do: "deploy" });
});

t.test("a rollback that was killed in the middle is undone by the next run, without losing a release", async (t) => {
  const h = await hostWith(t, ["1.0.0", "2.0.0"], { name: "none" });
  const [running, before] = await listReleases(h.layout, TARGET);
  const { items } = before!;
  await writeFile(
    h.layout.journal,
    JSON.stringify({
      ...{ v: 1, deployment_id: "0b9e5f6c-1111-4222-8333-444455556666", target: TARGET, kind: "project" },
      ...{ slug: TARGET.slice("project-".length), host_id: "host", requested_version: "previous" },
      ...{ resolved_version: "1.0.0", started_at: new Date().toISOString(), release: before!.name },
      ...{ phase: "switching", previous: running!.name, items, previous_items: items, adopted: [], env_files: [] },
      ...{ touched: [], keeps_release: true, report: null },
    }),
  );
  t.match(await h.back("2.0.0"), { outcome: "unchanged", version: "2.0.0" });
  t.same(await h.kept(), ["2.0.0", "1.0.0"]);
  t.equal(await h.version(), "2.0.0");
});
