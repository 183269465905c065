/** Deployments that a signal, a deadline or the death of their process ends while they fetch. */
import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { bootId, endInterrupted } from "../../../lib/agent/deployment/interrupted.ts";
import { DEPLOY_DEFAULTS } from "../../../lib/agent/deployment/run.ts";
import { readReports } from "../../../lib/agent/reports/report.ts";
import type { Supervisor } from "../../../lib/agent/supervisors/supervisor.ts";
import { writeJsonFile } from "../../../lib/releases/json-file.ts";
import { noteDeath, readQuarantine } from "../../../lib/releases/quarantine.ts";
import { currentRelease, listReleases } from "../../../lib/releases/release.ts";
import { type Given, GIVEN_TARGET as TARGET, INSTALL, sourceOf } from "../../support/host/given-source.ts";
import { layoutOf } from "../../support/host/project-root.ts";
import { givenTarget, watching } from "../../support/host/watching.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { until } from "../../support/until.ts";

const options = (root: string) => ({
  ...DEPLOY_DEFAULTS,
  projectRoot: root,
  hostId: "host",
  supervisor: { name: "none" as const },
});

/** A fetch that fails as streams do when they are cut off: not with the reason. */
const cutOff: Given = {
  fetch: async ({ signal }) => {
    await until(() => signal.aborted);
    throw new Error("Premature close");
  },
};

t.test("a signal while bytes come is told as an interruption, in the report as well", async (t) => {
  const root = temporaryFolder(t);
  const result = await deploy(
    sourceOf("1.0.0", INSTALL, cutOff),
    { ...options(root), signal: AbortSignal.timeout(50) },
    () => {},
  );
  t.match(result, { error: { code: "interrupted", exitCode: 130 } });
  t.match(await readReports(layoutOf(root), TARGET, 1), [
    { status: "failed", code: "interrupted", running_version: null },
  ]);
  t.same(await readQuarantine(layoutOf(root), TARGET), []);
});

t.test("the report of a failed deployment says what runs beside what was tried", async (t) => {
  const root = temporaryFolder(t);
  await deploy(sourceOf("1.0.0", INSTALL), options(root), () => {});
  await deploy(sourceOf("1.1.0", INSTALL, cutOff), { ...options(root), deadlineMs: 50 }, () => {});
  t.match(await readReports(layoutOf(root), TARGET, 2), [
    { status: "failed", resolved_version: "1.1.0", running_version: "1.0.0" },
    { status: "success", resolved_version: "1.0.0", running_version: "1.0.0" },
  ]);
});

t.test("a deployment that takes longer than its deadline is undone and worth another try", async (t) => {
  const root = temporaryFolder(t);
  const result = await deploy(sourceOf("1.0.0", INSTALL, cutOff), { ...options(root), deadlineMs: 50 }, () => {});
  t.match(result, { error: { code: "deadline_exceeded", exitCode: 75 } });
  t.same(await readQuarantine(layoutOf(root), TARGET), []);
});

t.test("a hub that trickles holds up its own target only", async (t) => {
  const root = temporaryFolder(t);
  const ending = new AbortController();
  const slow = deploy(sourceOf("1.0.0", INSTALL, cutOff), { ...options(root), signal: ending.signal }, () => {});
  const other = sourceOf("1.0.0", INSTALL.replace("plugin: a", "plugin: b"), { slug: "prj_1111111111", plugin: "b" });
  t.match(await deploy(other, { ...options(root), lockWaitMs: 2_000 }, () => {}), { outcome: "deployed" });
  ending.abort();
  t.match(await slow, { error: { code: "interrupted" } });
});

t.test("a project root that cannot be made is an error, not an endless loop", async (t) => {
  t.match(await deploy(sourceOf("1.0.0", INSTALL), options("/proc/sealift/x"), () => {}), { status: "failed" });
});

/** A root where a run was killed while it fetched 1.0.0. */
async function killedWhileFetching(root: string, boot_id: string | null): Promise<void> {
  const staging = layoutOf(root).staging(TARGET, "1.0.0-abcdef01");
  await mkdir(staging, { recursive: true });
  await writeJsonFile(join(staging, "attempt.json"), {
    v: 1,
    deployment_id: "11111111-2222-3333-4444-555555555555",
    target: TARGET,
    ...{ kind: "project", slug: "prj_0123456789", host_id: "host", requested_version: "latest" },
    ...{ resolved_version: "1.0.0", started_at: "2026-01-01T00:00:00.000Z", release: "1.0.0-abcdef01" },
    ...{ identity: null, boot_id },
  });
}

t.test("a process that was killed once while it fetched blames no version: the next one takes it", async (t) => {
  const root = temporaryFolder(t);
  const version = { version: "1.0.0", identity: null };
  for (const other of [{ version: "0.9.0", identity: null }, version])
    t.equal(await noteDeath(layoutOf(root), TARGET, other), false);
  await killedWhileFetching(root, await bootId());
  const target = givenTarget(root);
  target.publish("1.0.0");
  const w = watching(t, [target]);
  await w.until("deploy.done", { outcome: "deployed", version: "1.0.0" });
  await w.stop();
  t.match(await readReports(layoutOf(root), TARGET, 2), [{ status: "success" }, { code: "interrupted" }]);
  for (const _ of [1, 2]) t.equal(await noteDeath(layoutOf(root), TARGET, version), false, "and counts from zero then");
  t.same(await readQuarantine(layoutOf(root), TARGET), []);
});

t.test("a version whose fetch ends the process again and again is reported, and held back", async (t) => {
  const root = temporaryFolder(t);
  for (const _ of [1, 2]) await noteDeath(layoutOf(root), TARGET, { version: "1.0.0", identity: null });
  await killedWhileFetching(root, await bootId());
  const target = givenTarget(root);
  target.publish("1.0.0");
  const w = watching(t, [target]);
  t.match(await w.until("target.held"), { version: "1.0.0", reason: "quarantined" });
  await w.stop();
  t.match(await readReports(layoutOf(root), TARGET, 1), [{ status: "failed", code: "quarantined" }]);
});

t.test("a power cut says nothing about the version that was being fetched", async (t) => {
  const root = temporaryFolder(t);
  await killedWhileFetching(root, "00000000-0000-0000-0000-000000000000");
  const target = givenTarget(root);
  target.publish("1.0.0");
  const w = watching(t, [target]);
  await w.until("deploy.done", { outcome: "deployed", version: "1.0.0" });
  await w.stop();
});

t.test(
  "a machine that restarted in the middle of a switch has its units restarted with the release that is back",
  async (t) => {
    const root = temporaryFolder(t);
    const layout = layoutOf(root);
    const calls: string[] = [];
    const note = (verb: string) => async (unit: string | null) => void calls.push(`${verb} ${unit}`);
    const supervisor = {
      name: "systemd" as const,
      make: (): Supervisor => ({
        ready: async () => undefined,
        ...{ start: note("start"), stop: note("stop"), restart: note("restart") },
        check: async () => undefined,
      }),
    };
    const restart = "\n  - {id: again, action: restart, plugin: a}";
    for (const version of ["1.0.0", "2.0.0"])
      await deploy(sourceOf(version, INSTALL + restart), { ...options(root), supervisor }, () => {});
    for (const [boot_id, expected] of [
      [await bootId(), []],
      ["another boot", ["restart a"]],
    ] as const) {
      const [next, before] = await listReleases(layout, TARGET);
      const attempt = {
        ...{
          v: 1,
          deployment_id: randomUUID(),
          target: TARGET,
          kind: "project",
          slug: TARGET.slice(8),
          host_id: "host",
        },
        ...{ requested_version: "latest", resolved_version: "2.0.0", started_at: new Date().toISOString(), boot_id },
      };
      await writeJsonFile(layout.journal, {
        ...{ ...attempt, release: next!.name, previous: before!.name, phase: "switching", keeps_release: true },
        ...{ items: next!.items, previous_items: before!.items, adopted: [], env_files: [], touched: [], report: null },
      });
      calls.length = 0;
      await endInterrupted(layout, supervisor, () => {});
      t.strictSame(calls, expected, `killed in ${boot_id}`);
      t.equal((await currentRelease(layout, TARGET))!.name, before!.name);
    }
  },
);
