// In a process of its own: it watches processes for seconds.
// Holds: who is asked after a deployment, and what is reported (lib/agent/health/health-watch.ts)
// Holds: what a report says of each application (lib/agent/applications/to-report.ts)
import { randomUUID } from "node:crypto";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { applicationsToReport } from "../../../../lib/agent/applications/to-report.ts";
import type { HealthTimes } from "../../../../lib/agent/health/health-watch.ts";
import { inspectTarget } from "../../../../lib/agent/target-status.ts";
import type { LocalReport } from "../../../../lib/contract/surfaces/reports.ts";
import { readDeployed } from "../../../../lib/releases/deployed.ts";
import { currentRelease } from "../../../../lib/releases/release.ts";
import { noteStopped } from "../../../../lib/releases/stopped.ts";
import { GIVEN_TARGET } from "../../../support/host/given-source.ts";
import { sickApplication } from "../../../support/host/sick-application.ts";
import { givenTarget, watching } from "../../../support/host/watching.ts";
import { until } from "../../../support/until.ts";

const TIMES: HealthTimes = { everyMs: 200, quietMs: 3_000 };

type Host = Awaited<ReturnType<typeof sickApplication>>;

/** Watches the application, and deploys its first version. */
async function follows(t: Test, h: Host, times: Partial<HealthTimes> = {}) {
  const target = givenTarget(h.root, { steps: h.steps, given: h.given, intervalMs: 60_000 });
  target.publish("1.0.0");
  const w = watching(t, [target], undefined, undefined, { ...TIMES, ...times });
  await w.until("deploy.done", { outcome: "deployed" });
  return { target, w };
}

t.test("an application that answers 500 after its deployment is unhealthy after three misses", async (t) => {
  const h = await sickApplication(t);
  const { w, target } = await follows(t, h);
  await h.answers(500);
  const changed = await w.until("health.changed");
  t.match(changed, { state: "unhealthy", message: /^apps\/web: GET http:\/\/127\.0\.0\.1:\d+\/healthz answered 500$/ });
  await w.until("report.sent");
  t.match(h.reports, [
    { status: "success", health: undefined, applications: { web: { state: "running", since: /Z$/ } } },
    {
      applications: { web: { state: "unhealthy" } },
      ...{ status: "failed", resolved_version: "1.0.0", running_version: "1.0.0", code: "unhealthy" },
      error_message: /^unhealthy: apps\/web: .* answered 500$/,
      health: { state: "unhealthy", since: changed.since },
    },
  ]);
  t.not(h.reports[0]!.deployment_id, h.reports[1]!.deployment_id);
  const status = await inspectTarget(h.layout, GIVEN_TARGET);
  t.match(status, { unhealthy: { since: changed.since, message: /answered 500/ }, lastReport: { status: "success" } });

  t.comment("it never goes back by itself, and one answer makes it healthy");
  await h.answers(200);
  t.match(await w.until("health.changed"), { state: "healthy", message: null });
  await w.until("report.sent");
  t.match(h.reports.at(-1), { status: "success", error_message: null, health: { state: "healthy" } });
  t.equal(w.all("deploy.done").length, 1);
  t.equal((await inspectTarget(h.layout, GIVEN_TARGET)).unhealthy, null);

  t.comment("what is left unhealthy is not preferred by a rollback");
  await h.answers(500);
  await w.until("health.changed", { state: "unhealthy" });
  await w.stop();
  await h.answers(200);
  const deployed = await readDeployed(h.layout, GIVEN_TARGET);
  t.match(deployed?.ran, [{ version: "1.0.0", healthy: true }]);
  target.publish("1.1.0");
  const again = watching(t, [target], undefined, undefined, { everyMs: 60_000 });
  await again.until("deploy.done", { version: "1.1.0", outcome: "deployed" });
  t.match((await readDeployed(h.layout, GIVEN_TARGET))?.ran, [
    { version: "1.0.0", healthy: undefined },
    { version: "1.1.0", healthy: true },
  ]);
});

t.test("a release whose applications an older agent has not named is reported once more", async (t) => {
  const h = await sickApplication(t);
  const { w, target } = await follows(t, h);
  await w.stop();
  const folder = h.layout.reports(GIVEN_TARGET);
  for (const name of await readdir(folder)) {
    if (!name.endsWith(".json")) continue;
    const report = JSON.parse(await readFile(join(folder, name), "utf8")) as LocalReport;
    const { applications: _, ...older } = report;
    await writeFile(join(folder, name), JSON.stringify(older));
    const ofAnother = { ...report, running_version: "0.9.0", deployment_id: randomUUID() };
    await writeFile(join(folder, `${name.slice(0, -".json".length)}0.json`), JSON.stringify(ofAnother));
  }
  h.reports.length = 0;
  const again = watching(t, [target], undefined, undefined, TIMES);
  await again.until("report.sent");
  t.match(h.reports, [
    { status: "success", health: { state: "healthy" }, applications: { web: { state: "running" } } },
  ]);
  await h.answers(500);
  await again.until("health.changed", { state: "unhealthy" });
  await again.until("report.sent");
  t.equal(h.reports.length, 2, "and then only edges");
  for (const name of await readdir(folder)) if (name.endsWith(".json")) await rm(join(folder, name));
  await sleep(4 * TIMES.everyMs);
  t.equal(h.reports.length, 2, "also where its reports are no longer here");
});

for (const logInReports of [true, false])
  t.test(
    `an illness is reported ${logInReports ? "with" : "without"} lines of the log, as the operator says`,
    async (t) => {
      const h = await sickApplication(t);
      const files = { ...h.files, "apps/web/server.js": `console.log("sailing");${h.files["apps/web/server.js"]}` };
      const given = () => ({ ...h.given(), files });
      const target = givenTarget(h.root, { steps: h.steps, given, intervalMs: 60_000, deploy: { logInReports } });
      target.publish("1.0.0");
      const w = watching(t, [target], undefined, undefined, TIMES);
      await w.until("deploy.done", { outcome: "deployed" });
      await h.answers(500);
      await until(() => h.reports.at(-1)?.health?.state === "unhealthy");
      const { log } = h.reports.at(-1)!;
      if (logInReports) t.match(log?.join(), "sailing");
      else t.equal(log, undefined);
    },
  );

t.test("one that flaps is reported ill once in a quiet time, and its last state is told", async (t) => {
  const h = await sickApplication(t);
  const { w } = await follows(t, h, { everyMs: 50, quietMs: 2_000 });
  const began = performance.now();
  let edges = 0;
  while (performance.now() - began < 3_600 || edges < 5) {
    await h.answers(edges % 2 === 0 ? 500 : 200);
    await w.until("health.changed");
    edges++;
  }
  // A slow machine takes longer for as many changes.
  const quietTimes = 1 + Math.floor((performance.now() - began) / 2_000);
  const told = h.reports.filter(({ about }) => about === "health");
  const ill = told.filter(({ status }) => status === "failed");
  t.ok(ill.length <= quietTimes, `${ill.length} reports of illness in ${edges} changes`);
  t.ok(told.length <= 2 * ill.length, `${told.length} reports`);
  await h.answers(500);
  if (edges % 2 === 0) await w.until("health.changed");
  await until(() => h.reports.at(-1)?.health?.state === "unhealthy");
  await sleep(2_500);
  t.equal(h.reports.at(-1)?.health?.state, "unhealthy");
  const kept = (await readdir(h.layout.reports(GIVEN_TARGET))).filter((name) => name.endsWith(".json"));
  t.equal(kept.length, 2, "the deployment's report, and the last one about health");
});

t.test("one that dies is unhealthy without health.http, and an outage of the hub loses no report", async (t) => {
  const h = await sickApplication(t, "{ stays_up: 1s }");
  let isAway = false;
  const report = async (sent: LocalReport): Promise<void> => {
    if (isAway) throw new Error("the hub is away");
    h.reports.push(sent);
  };
  const { w, target } = await follows(t, { ...h, given: () => ({ ...h.given(), report }) });
  isAway = true;
  await h.answers("gone");
  for (const { pid } of h.served.statuses()) if (pid !== null) process.kill(pid);
  t.match(await w.until("health.changed"), { state: "unhealthy", message: /^apps\/web: .*(waiting|ended|restarted)/ });
  await w.until("warning");
  t.equal(h.reports.length, 1);
  await w.stop();

  isAway = false;
  const again = watching(t, [target], undefined, undefined, TIMES);
  await again.until("report.sent");
  t.match(h.reports.slice(1), [{ status: "failed", health: { state: "unhealthy" } }], "a later watch sends it");
  t.match(again.all("watch.started")[0]?.targets[0], { unhealthy: { message: /apps\/web/ } });
});

t.test("a withdrawn grant ends its application, and a new one starts it again", async (t) => {
  const h = await sickApplication(t);
  const { w } = await follows(t, h);
  const file = join(h.root, "applications.yaml");
  const granted = await readFile(file, "utf8");
  await writeFile(file, "supervisor: serve\napplications: {}\n");
  t.match(await w.until("warning"), { message: /application web was stopped: applications.yaml grants it no longer/ });
  t.match(h.served.statuses(), [{ id: "web", state: "stopped", pid: null }]);
  t.match(await w.until("health.changed"), { state: "unhealthy", message: /apps\/web: / });
  await writeFile(file, granted);
  await h.served.reload();
  t.match(await w.until("health.changed"), { state: "healthy" });
});

t.test("what an operator stops is reported at once, and is not unhealthy", async (t) => {
  const h = await sickApplication(t);
  const { w, target } = await follows(t, h);
  await h.answers("gone");
  await w.until("health.changed", { state: "unhealthy" });
  await noteStopped(h.layout, "web", true);
  await h.served.act("web", "stop");
  await w.until("health.changed", { state: "healthy" });
  await until(() => h.reports.at(-1)?.health?.state === "healthy");
  t.match(h.reports.at(-1), {
    ...{ status: "success", running_version: "1.0.0", error_message: null },
    health: { state: "healthy", stopped: ["apps/web"] },
  });
  const { items } = (await currentRelease(h.layout, GIVEN_TARGET))!;
  const { applications } = await applicationsToReport(h.layout, items, {}, { "apps/web": "it ended" });
  t.match(applications, { web: { state: "stopped" } }, "also where it was ill when it was asked");
  t.comment("a version that comes meanwhile says so, too, and once");
  const before = h.reports.length;
  await w.stop();
  target.publish("2.0.0");
  const again = watching(t, [target], undefined, undefined, TIMES);
  await again.until("deploy.done", { outcome: "deployed" });
  await until(() => h.reports.length > before);
  t.match(h.reports.at(-1), { status: "success", running_version: "2.0.0", health: { stopped: ["apps/web"] } });
  await sleep(4 * TIMES.everyMs);
  t.equal(h.reports.length, before + 1);
  await h.answers(200);
  await noteStopped(h.layout, "web", false);
  await h.served.act("web", "start");
  await until(() => h.reports.at(-1)?.health?.stopped === undefined);
  t.match(h.reports.at(-1), { status: "success", health: { state: "healthy", stopped: undefined } });
});
