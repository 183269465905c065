import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { deploy } from "../../../../lib/agent/deployment/deploy.ts";
import type { AgentEvent } from "../../../../lib/agent/deployment/events.ts";
import { rollback } from "../../../../lib/agent/deployment/rollback.ts";
import type { DeployOptions } from "../../../../lib/agent/deployment/run.ts";
import { inspectTarget } from "../../../../lib/agent/inspection.ts";
import { readReports } from "../../../../lib/agent/reports/report.ts";
import { systemdSupervisor } from "../../../../lib/agent/supervisors/systemd.ts";
import { decide } from "../../../../lib/agent/watch/decide.ts";
import { readJournal } from "../../../../lib/releases/journal.ts";
import { layoutOf } from "../../../../lib/releases/layout.ts";
import { readQuarantine, releaseLeft } from "../../../../lib/releases/quarantine.ts";
import { listReleases } from "../../../../lib/releases/release.ts";
import { GIVEN_TARGET as TARGET, INSTALL, sourceOf } from "../../../support/host/given-source.ts";
import { recordingProgram } from "../../../support/programs/recording-program.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const systemd = { name: "systemd" as const, make: () => systemdSupervisor({ scope: "system" }) };
const HEALTHY = 'case "$*" in *show*) echo LoadState=loaded; echo ActiveState=active; echo NRestarts=0;; esac';
const STEPS = `${INSTALL}
  - {id: up, action: restart, plugin: a}
  - {id: ok, action: healthcheck, plugin: a, timeout: 5, retries: 0}`;

/** A host on which these versions were deployed, one after another. */
async function hostWith(t: Test, versions: readonly string[], supervisor: DeployOptions["supervisor"]) {
  const root = temporaryFolder(t);
  const layout = layoutOf(root);
  const events: AgentEvent[] = [];
  const options = { projectRoot: root, hostId: "host", supervisor };
  const steps = supervisor.name === "none" ? INSTALL : STEPS;
  for (const version of versions) {
    const result = await deploy(sourceOf(version, steps), options, () => undefined);
    t.equal(result.outcome, "deployed", result.error?.message ?? version);
  }
  return {
    ...{ root, layout, events },
    back: (to?: string) =>
      rollback({ kind: "project", slug: TARGET.slice("project-".length), to }, options, (event) => events.push(event)),
    version: () => readFile(join(root, "plugins/a/version"), "utf8"),
    kept: async () => (await listReleases(layout, TARGET)).map(({ version }) => version),
  };
}

t.test("it goes back to the release before, offline, and further back, and keeps all of them", async (t) => {
  const h = await hostWith(t, ["1.0.0", "2.0.0", "3.0.0"], { name: "none" });
  t.match(await h.back(), { status: "success", outcome: "deployed", version: "2.0.0", previous_version: "3.0.0" });
  t.equal(await h.version(), "2.0.0");
  t.match(await h.back(), { outcome: "deployed", version: "1.0.0" });
  t.match(await h.back(), { outcome: "failed", error: { code: "no_release", exitCode: 1 } }, "nothing is older");
  t.equal(await h.version(), "1.0.0");
  t.same(await h.kept(), ["3.0.0", "2.0.0", "1.0.0"]);
  const reports = await readReports(h.layout, TARGET, 10);
  t.match(reports[1], { status: "success", requested_version: "previous", resolved_version: "1.0.0" });
  t.equal((await inspectTarget(h.layout, TARGET)).unsentReports, 3, "the next run sends the reports");
});

t.test("a release or a version can be named, and what is not kept is refused with what is", async (t) => {
  const h = await hostWith(t, ["1.0.0", "2.0.0"], { name: "none" });
  t.match(await h.back("2.0.0"), { outcome: "unchanged" });
  t.match(await h.back("9.9.9"), { error: { code: "no_release", hint: /2\.0\.0.*1\.0\.0/ } });
  const name = (await listReleases(h.layout, TARGET)).at(-1)!.name;
  t.match(await h.back(name), { outcome: "deployed", version: "1.0.0", release: name });
});

t.test("units are restarted and checked as the release's own plan did", async (t) => {
  await recordingProgram(t, "systemctl", HEALTHY);
  const h = await hostWith(t, ["1.0.0", "2.0.0"], systemd);
  const calls = await recordingProgram(t, "systemctl", HEALTHY);
  t.match(await h.back(), { outcome: "deployed", version: "1.0.0" });
  const said = await calls();
  t.match(said[0], /restart sealift-plugin-a/);
  t.match(said[1], /show.*sealift-plugin-a/);
  const [report] = await readReports(h.layout, TARGET, 1);
  t.match(report!.steps, [
    { id: "restart-a", status: "done" },
    { id: "check-a", status: "done" },
  ]);
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
    decide({
      ...{ running: "1.0.0", paused: false, damaged: false, allowDowngrade: false },
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
