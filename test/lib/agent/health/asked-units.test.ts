// Holds: which units are asked, and when nobody is (lib/agent/health/asked-units.ts,
// lib/agent/health/health-watch.ts, lib/agent/health/withdrawn.ts)
import { chownSync, mkdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { Status } from "../../../../commands/targets/status.ts";
import { examine } from "../../../../lib/agent/doctor.ts";
import { dockerSupervisor } from "../../../../lib/agent/supervisors/docker.ts";
import type { Sample, Supervisor } from "../../../../lib/agent/supervisors/supervisor.ts";
import { systemdSupervisor } from "../../../../lib/agent/supervisors/systemd.ts";
import { readStanding } from "../../../../lib/releases/health.ts";
import { Journal } from "../../../../lib/releases/journal.ts";
import { type Layout, layoutOf } from "../../../../lib/releases/layout.ts";
import { acquireLock } from "../../../../lib/releases/lock.ts";
import { currentRelease, writeRelease } from "../../../../lib/releases/release.ts";
import { applicationHost, appSource, installing } from "../../../support/host/application-host.ts";
import { GIVEN_TARGET } from "../../../support/host/given-source.ts";
import { givenTarget, watching } from "../../../support/host/watching.ts";
import { recordingProgram } from "../../../support/programs/recording-program.ts";
import { runHere } from "../../../support/programs/run-here.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";
import { until } from "../../../support/until.ts";

const QUICK = { everyMs: 30, quietMs: 60_000 };
const URLS = new Map([["a", new URL("http://127.0.0.1:9/")]]);
const UNITS = { staysUpMs: 0, urls: URLS };
const RUNNING = "printf 'LoadState=loaded\\nActiveState=active\\nNRestarts=0\\n'";
const INSPECTED = `case "$*" in *inspect*) echo '{"State":{"Status":"running","Running":true},"RestartCount":0}';; esac`;

for (const [name, answer, supervisor] of [
  ["systemd", RUNNING, () => systemdSupervisor({ scope: "system", ...UNITS })],
  ["docker", INSPECTED, () => dockerSupervisor(UNITS)],
] as const)
  t.test(`a plugin's unit of ${name} with a health URL is asked, and without one is not`, async (t) => {
    const calls = await recordingProgram(t, name === "systemd" ? "systemctl" : name, answer);
    const target = givenTarget(temporaryFolder(t), { deploy: { supervisor: { name, make: supervisor } } });
    const bare = givenTarget(temporaryFolder(t), {
      ...{ slug: "prj_0000000002", plugin: "b", name: "project:bare" },
      deploy: { supervisor: { name, make: supervisor } },
    });
    for (const each of [target, bare]) each.publish("1.0.0");
    const w = watching(t, [target, bare], undefined, undefined, QUICK);
    const changed = await w.until("health.changed");
    t.match(changed, {
      target: target.name,
      state: "unhealthy",
      message: /^a: GET http:\/\/127\.0\.0\.1:9\/ failed: /,
    });
    t.equal(w.all("health.changed").length, 1);
    t.notOk((await calls()).some((line) => line.includes("sealift-plugin-b")));
  });

/** An application whose looks a test decides. */
function looked(found: (signal: AbortSignal | undefined) => Sample | Promise<Sample>) {
  let count = 0;
  const done = async (): Promise<void> => undefined;
  const supervisor: Supervisor = {
    ...{ start: done, stop: done, restart: done },
    ready: async () => undefined,
    check: async () => undefined,
    look: async (_unit, _timeoutMs, signal) => {
      count++;
      return found(signal);
    },
  };
  return { count: () => count, choice: { name: "none" as const, applications: async () => supervisor } };
}

/** Returns the release that runs, and a deployment that is to follow it. */
async function running(layout: Layout) {
  const release = (await currentRelease(layout, GIVEN_TARGET))!;
  const attempt = {
    ...{ v: 1 as const, deployment_id: "d", target: GIVEN_TARGET, kind: "project" as const, slug: "prj_0123456789" },
    ...{ host_id: "host", requested_version: "1.1.0", resolved_version: "1.1.0", started_at: release.created_at },
    release: release.name,
  };
  return { release, attempt };
}

t.test("nobody is asked while a journal names the target, and a later watch knows what was found", async (t) => {
  const h = await applicationHost(t);
  let fault: string | undefined;
  const { count, choice } = looked(() => ({ restarts: 0, ...(fault !== undefined && { fault }) }));
  const target = givenTarget(h.root, {
    ...{ intervalMs: 60_000, steps: installing("web"), deploy: { supervisor: choice } },
    given: (version) => ({
      fetch: async (context) => (await appSource(version).resolve(context)).fetch(context),
    }),
  });
  target.publish("1.0.0");
  const w = watching(t, [target], undefined, undefined, QUICK);
  await w.until("deploy.done", { outcome: "deployed" });
  await until(() => count() >= 3);
  const layout = layoutOf(h.root);
  const { release, attempt } = await running(layout);
  const journal = await Journal.begin(layout, attempt, release.name, { keepsRelease: true });
  await sleep(100);
  const asked = count();
  fault = "it ended";
  await sleep(200);
  t.equal(count(), asked, "paused");
  await journal.clear();
  t.match(await w.until("health.changed"), { state: "unhealthy", message: "apps/web: it ended" });
  await w.stop();
  const { stdout } = await runHere([Status], ["status", "--project-root", h.root]);
  t.match(stdout, /^ {2}unhealthy +since 20.*: apps\/web: it ended$/m);
  t.match(stdout, /last try +success 1\.0\.0/, "a report about health is no deployment");
  const findings = await Array.fromAsync(examine({ projectRoot: h.root, supervisor: { name: "none" } }));
  const sick = findings.find(({ message }) => message.includes("unhealthy since"));
  t.match(sick, { status: "warning", message: /^1\.0\.0 is unhealthy since .*: apps\/web: it ended$/ });

  const again = watching(t, [target], undefined, undefined, QUICK);
  fault = undefined;
  t.match(await again.until("health.changed"), { state: "healthy" }, "one answer");
  t.match(again.all("watch.started")[0]!.targets[0], { unhealthy: { message: "apps/web: it ended" } });
});

t.test("a look during which a deployment began counts for neither release", async (t) => {
  const h = await applicationHost(t);
  const layout = layoutOf(h.root);
  let begins = false;
  let journal: Journal | undefined;
  const { choice } = looked(async () => {
    if (!begins || journal !== undefined) return { restarts: 0 };
    const { release, attempt } = await running(layout);
    journal = await Journal.begin(layout, attempt, release.name, { keepsRelease: true });
    return { restarts: 0, fault: "it ended" };
  });
  const target = givenTarget(h.root, {
    ...{ intervalMs: 60_000, steps: installing("web"), deploy: { supervisor: choice } },
    given: (version) => ({
      fetch: async (context) => (await appSource(version).resolve(context)).fetch(context),
    }),
  });
  target.publish("1.0.0");
  const w = watching(t, [target], undefined, undefined, QUICK);
  await w.until("deploy.done", { outcome: "deployed" });
  begins = true;
  // As many as make a release unhealthy, and more.
  for (let round = 0; round < 5; round++) {
    await until(() => journal !== undefined);
    // Past the end of the look's round.
    await sleep(3 * QUICK.everyMs);
    await journal!.clear();
    journal = undefined;
  }
  begins = false;
  t.same(w.all("health.changed"), []);
});

/** A watch of one application, after its first deployment. */
async function watched(t: Test, found: (signal: AbortSignal | undefined) => Sample | Promise<Sample>) {
  const h = await applicationHost(t);
  const { count, choice } = looked(found);
  const target = givenTarget(h.root, {
    ...{ intervalMs: 60_000, steps: installing("web"), deploy: { supervisor: choice } },
    given: (version) => ({
      fetch: async (context) => (await appSource(version).resolve(context)).fetch(context),
    }),
  });
  target.publish("1.0.0");
  const w = watching(t, [target], undefined, undefined, QUICK);
  await w.until("deploy.done", { outcome: "deployed" });
  await until(() => count() >= 1);
  return { root: h.root, layout: layoutOf(h.root), count, w };
}

t.test("a look that the end of the watch interrupts is no fault", async (t) => {
  const { w } = await watched(t, async (signal) => {
    await sleep(60_000, undefined, { signal: signal! });
    return { restarts: 0 };
  });
  await w.stop();
  t.same(w.all("warning"), []);
});

t.test("nobody is asked in a root that is refused", { skip: process.getuid?.() !== 0 && "needs root" }, async (t) => {
  const { root, count } = await watched(t, () => ({ restarts: 0 }));
  chownSync(root, 65_534, 65_534);
  await sleep(100);
  const asked = count();
  await sleep(200);
  t.equal(count(), asked);
  chownSync(root, 0, 0);
  await until(() => count() > asked);
});

t.test("a release that is left during its third miss is not ill", async (t) => {
  const left: { layout?: Layout } = {};
  let misses = 0;
  const found = await watched(t, async () => {
    const { layout } = left;
    if (layout === undefined) return { restarts: 0 };
    if (++misses === 3) {
      const name = "9.0.0-left";
      const record = {
        version: "9.0.0",
        identity: null,
        items: [],
        content_sha256: null,
        created_at: "2026-01-01T00:00:00Z",
      };
      mkdirSync(layout.release(GIVEN_TARGET, name), { recursive: true });
      await writeRelease(layout, GIVEN_TARGET, name, record);
      rmSync(layout.current(GIVEN_TARGET));
      symlinkSync(layout.currentText(GIVEN_TARGET, name), layout.current(GIVEN_TARGET));
    }
    return { restarts: 0, fault: "it ended" };
  });
  left.layout = found.layout;
  await until(() => misses >= 3);
  await sleep(200);
  t.same(found.w.all("health.changed"), []);
});

t.test("nothing is reported while somebody deploys, and what stays is written once", async (t) => {
  const ill: { fault?: string } = {};
  const { layout, root, w } = await watched(t, () => ({ restarts: 0, ...ill }));
  rmSync(join(root, "applications.yaml"));
  const lock = await acquireLock(layout.targetLock(GIVEN_TARGET), { waitMs: 10_000 });
  ill.fault = "it ended";
  await w.until("health.changed");
  await sleep(200);
  t.equal((await readStanding(layout, GIVEN_TARGET))?.told, undefined);
  await lock[Symbol.asyncDispose]();
  await until(async () => (await readStanding(layout, GIVEN_TARGET))?.told !== undefined);
  const file = join(layout.sealift, "state", `health-${GIVEN_TARGET}.json`);
  const { ino } = statSync(file);
  await sleep(200);
  t.equal(statSync(file).ino, ino);
  t.same(w.all("warning"), [], "without applications.yaml, too");
});
