import { mkdir, readdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import type { AgentEvent } from "../../../../lib/agent/base/events.ts";
import { deploy } from "../../../../lib/agent/deployment/deploy.ts";
import { beginRun, DEPLOY_DEFAULTS } from "../../../../lib/agent/deployment/run.ts";
import { reportOf } from "../../../../lib/agent/reports/draft.ts";
import { markUnsent, readReports, unsentNames } from "../../../../lib/agent/reports/report.ts";
import { deploymentError } from "../../../../lib/contract/errors.ts";
import type { LocalReport } from "../../../../lib/contract/surfaces/reports.ts";
import { writeJsonFile } from "../../../../lib/releases/json-file.ts";
import { switchRelease } from "../../../../lib/releases/switch.ts";
import { type Given, GIVEN_TARGET as TARGET, INSTALL, sourceOf } from "../../../support/host/given-source.ts";
import { layoutOf, prepareRelease } from "../../../support/host/project-root.ts";
import { givenTarget, watching } from "../../../support/host/watching.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const options = (root: string) => ({
  ...DEPLOY_DEFAULTS,
  projectRoot: root,
  hostId: "host",
  supervisor: { name: "none" as const },
});
const run = (root: string, version: string, given: Given, listen: (event: AgentEvent) => void = () => {}) =>
  deploy(sourceOf(version, INSTALL, given), options(root), listen);
const versions = (reports: LocalReport[]) =>
  reports.map(({ resolved_version: version, status }) => `${version} ${status}`);

t.test("a report that could not be sent is sent by the next run, before its own", async (t) => {
  const root = temporaryFolder(t);
  const away = () => Promise.reject(deploymentError("connection_failed", "the hub is away."));
  const warnings: string[] = [];
  t.match(
    await run(root, "1.0.0", { report: away }, (event) => event.event === "warning" && warnings.push(event.message)),
    { status: "success" },
  );
  t.match(warnings, [/could not be sent: the hub is away\. The next run tries again/]);
  await run(root, "2.0.0", { report: away });
  const reports: LocalReport[] = [];
  await run(root, "3.0.0", { reports });
  t.same(versions(reports), ["1.0.0 success", "2.0.0 success", "3.0.0 success"]);
  await run(root, "3.0.0", { reports });
  t.equal(reports.length, 4, "each once");
  t.same(
    (await readdir(layoutOf(root).reports(TARGET))).filter((name) => name.endsWith(".unsent")),
    [],
  );
});

t.test("a report that the hub refuses is not sent for ever", async (t) => {
  const root = temporaryFolder(t);
  const refuse = () => Promise.reject(deploymentError("hub_refused", "no such host.", { status: 422 }));
  await run(root, "1.0.0", { report: refuse });
  const reports: LocalReport[] = [];
  await run(root, "2.0.0", { reports });
  t.same(versions(reports), ["2.0.0 success"]);
});

t.test("a report that another process is writing keeps its mark, and is sent when it is there", async (t) => {
  const root = temporaryFolder(t);
  await run(root, "1.0.0", {});
  const layout = layoutOf(root);
  const [written, late] = ["20260101T000000000Z-late", "20250101T000000000Z-killed"];
  for (const name of [written, late]) await markUnsent(layout, TARGET, name);
  const longAgo = new Date(Date.now() - 3_600_000);
  await utimes(join(layout.outbox(TARGET), late), longAgo, longAgo);
  const reports: LocalReport[] = [];
  await run(root, "2.0.0", { reports });
  t.same(versions(reports), ["2.0.0 success"]);
  t.same(await unsentNames(layout, TARGET), [written], "one whose writer was killed goes");
});

/** A root where a run was killed after its commit, before its report. */
async function killedAfterCommit(root: string): Promise<void> {
  const layout = layoutOf(root);
  const killed = await prepareRelease(layout, TARGET, "1.0.0", { "plugins/a/version": "1.0.0" });
  await switchRelease(killed.journal, killed);
  const killedRun = beginRun(sourceOf("1.0.0", INSTALL), options(root), () => {});
  killedRun.emit({ event: "resolve.ok", version: "1.0.0", running_version: null });
  await killed.journal.note({
    phase: "committed",
    report: reportOf(killedRun, { status: "success", running: { version: "1.0.0", signer: null } }),
  });
}

t.test("a kill between commit and report loses neither the release nor its report", async (t) => {
  const root = temporaryFolder(t);
  await killedAfterCommit(root);
  const reports: LocalReport[] = [];
  const events: string[] = [];
  const result = await run(root, "2.0.0", { reports }, (event) => {
    if (event.event === "recovery.done") events.push(event.outcome);
  });
  t.match(result, { outcome: "deployed", previous_version: "1.0.0" });
  t.same(events, ["finished"]);
  t.same(versions(reports), ["1.0.0 success", "2.0.0 success"]);
});

t.test("a watch sends what was committed and what was undone, though it has nothing to deploy", async (t) => {
  const root = temporaryFolder(t);
  await killedAfterCommit(root);
  const layout = layoutOf(root);
  const staging = layout.staging(TARGET, "0.9.0-abcdef01");
  await mkdir(staging, { recursive: true });
  await writeJsonFile(join(staging, "attempt.json"), {
    v: 1,
    deployment_id: "11111111-2222-3333-4444-555555555555",
    target: TARGET,
    kind: "project",
    slug: "prj_0123456789",
    host_id: "host",
    requested_version: "latest",
    resolved_version: "0.9.0",
    started_at: "2026-01-01T00:00:00.000Z",
    release: "0.9.0-abcdef01",
  });
  const reports: LocalReport[] = [];
  const target = givenTarget(root, { given: () => ({ reports }) });
  target.publish("1.0.0");
  const w = watching(t, [target]);
  await w.until("check.done", { running_version: "1.0.0" });
  await w.stop();
  t.same(versions(reports).toSorted(), ["0.9.0 failed", "1.0.0 success"]);
  t.match(
    reports.find(({ status }) => status === "failed"),
    { code: "interrupted" },
  );
  t.equal((await readReports(layout, TARGET, 10)).length, 2);
});
