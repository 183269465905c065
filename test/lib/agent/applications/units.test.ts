// Holds: what systemd says of jobs and of typed commands (lib/agent/applications/unit-jobs.ts,
// lib/agent/applications/run-unit.ts, lib/agent/applications/to-report.ts)
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { runInUnit } from "../../../../lib/agent/applications/run-unit.ts";
import { applicationsToReport } from "../../../../lib/agent/applications/to-report.ts";
import { UnitJobs } from "../../../../lib/agent/applications/unit-jobs.ts";
import { NOT_TO_START } from "../../../../lib/agent/supervisors/unit-ending.ts";
import type { Item } from "../../../../lib/releases/layout.ts";
import { ApplicationRoot } from "../../../support/host/application-root.ts";
import { recordingProgram } from "../../../support/programs/recording-program.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

/** A root whose applications systemd runs, and a systemctl that says what is written down for it. */
async function units(t: Test, app: object = {}) {
  const root = await ApplicationRoot.make(t);
  await root.install("web", { app, files: {} });
  await root.grantAsIs({ web: { user: "web" } }, "systemd");
  const folder = temporaryFolder(t);
  const says = (what: "owner" | "unit" | "text", text: string): void => writeFileSync(join(folder, what), text);
  const script = `case "$*" in *WorkingDirectory*) cat ${folder}/owner;; *" cat "*) cat ${folder}/text;; *" show "*) cat ${folder}/unit;; esac`;
  const calls = await recordingProgram(t, "systemctl", script);
  says("owner", "\n\n");
  return { root, layout: root.layout, calls, says, folder };
}

const NOW = new Date().toISOString();
const RUN = { due: NOW, begun: NOW, target: "project-p" as const, release: "r1", boot: "b", before: "a" };

t.test("a run of a job goes on while its unit does, and ends with what systemd says", async (t) => {
  const { layout, says } = await units(t, { schedule: "30 3 * * *" });
  const jobs = new UnitJobs(layout, "system");
  const look = (unit: string, run: { started?: boolean; begun?: string } = {}) => {
    says("unit", `LoadState=loaded\n${unit}`);
    return jobs.look("web", { ...RUN, started: true, ended: null, fault: null, ...run });
  };
  for (const state of ["activating", "active", "deactivating"])
    t.equal(await look(`ActiveState=${state}\nInvocationID=b\n`), "runs", state);
  const same = "ActiveState=inactive\nInvocationID=a\n";
  t.equal(await look(same, { started: false }), "never");
  t.equal(await look(same), "runs", "it waits in systemd's queue");
  t.strictSame(await look(same, { begun: "2026-01-01T00:00:00Z" }), { fault: "systemd has not started it" });
  t.strictSame(await look(`${same}ConditionResult=no\n`), { fault: NOT_TO_START });
  t.strictSame(await look("ActiveState=inactive\nInvocationID=b\nResult=success\n"), { fault: null });
  t.match(await look("ActiveState=failed\nInvocationID=b\nResult=exit-code\nExecMainStatus=3\n"), { fault: /3/ });
});

t.test("a job without a unit of this root is not run", async (t) => {
  const { layout, says } = await units(t, { schedule: "30 3 * * *" });
  const jobs = new UnitJobs(layout, "system");
  const job = { id: "web" } as Parameters<UnitJobs["last"]>[0];
  says("unit", "LoadState=not-found\n");
  await t.rejects(jobs.last(job), { message: /^the unit sealift-job@web\.service is not-found$/ });
  says("owner", "WorkingDirectory=/srv/other/apps/web\n\n");
  await t.rejects(jobs.last(job), { message: "this root has no units of web" });
});

t.test("nothing is run in the place of what may not run, is not there, or has no unit", async (t) => {
  const { root, layout, says, folder, calls } = await units(t);
  const run = (id = "web") => runInUnit(layout, { id, words: ["true"], scope: "system", terminal: false });
  says("text", "[Service]\n");
  await t.rejects(run("api"), { code: "app_not_allowed", message: /api is not allowed to run/ });
  await root.grantAsIs({ web: { user: "web" }, api: { user: "api" } }, "systemd");
  await t.rejects(run("api"), { code: "app_not_installed" });
  await root.install("api", { app: { of: "web" }, files: {} });
  await t.rejects(run("api"), { code: "app_not_allowed", message: /api is of web, and allowed to run otherwise/ });
  says("owner", "WorkingDirectory=/srv/other/apps/web\n\n");
  await t.rejects(run(), { code: "supervisor_unavailable", message: "This root has no units of web." });
  says("owner", "\n\n");
  rmSync(join(folder, "text"));
  await t.rejects(run(), { code: "supervisor_failed", message: /sealift-app@web\.service cannot be read/ });
  t.notOk((await calls()).some((call) => call.includes("sealift-run-")));
});

t.test("a report says of each application what is known, and of one that is not, nothing", async (t) => {
  const { root, layout, says } = await units(t);
  const items: Item[] = [{ section: "apps", id: "web" }];
  const told = (restarts: number) => {
    says("unit", `LoadState=loaded\nActiveState=active\nNRestarts=${restarts}\nMainPID=7\n`);
    return applicationsToReport(layout, items, { systemdScope: "system" });
  };
  const membership = { web: "group" };
  t.strictSame(await told(0), { membership, applications: { web: { state: "running" } } });
  t.strictSame(await told(2), { membership, applications: { web: { state: "running", restarts: 2 } } });
  await root.install("web", { app: { schedule: "30 3 * * *" }, files: {} });
  t.strictSame(await told(0), { applications: { web: { state: "waiting" } } }, "a job");
  await root.install("web", { files: {} });
  await root.grant({ web: {} });
  t.strictSame(await told(0), {}, "no app serve answers");
  rmSync(join(layout.root, "applications.yaml"));
  t.strictSame(await told(0), {}, "nobody says who runs it");
  mkdirSync(join(layout.root, "applications.yaml"));
  t.strictSame(await told(0), {});
});
