// Only in test:all: a watch of many versions, 7 s of a processor; the tour has one, too.
import { randomInt } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import t, { type Test } from "tap";
import { ARCHIVE_FILE, readReports } from "../../lib/agent/reports/report.ts";
import { requestAction } from "../../lib/agent/watch/operator-requests.ts";
import { type FleetHost, readFleet } from "../../lib/client/fleet.ts";
import type { Target } from "../../lib/contract/target.ts";
import { layoutOf } from "../../lib/releases/layout.ts";
import { chaos, seeded } from "../support/host/chaos.ts";
import { leftovers } from "../support/host/world.ts";
import { startDoor } from "../support/hub/door.ts";
import { type RunningHub, startHub } from "../support/hub/harness.ts";
import { publishedArchive, publishedProject, type PublishedTarget, watchYaml } from "../support/hub/published.ts";
import { systemctlOf } from "../support/programs/systemctl.ts";
import { type ProgramEvent, start } from "../support/programs/watch-program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** The seed of a run: a failure comes again, mostly, with SEALIFT_CHAOS_SEED=… */
const SEED = Number(process.env.SEALIFT_CHAOS_SEED ?? randomInt(2 ** 31));
/** A nightly run takes 200. */
const VERSIONS = Number(process.env.SEALIFT_CHAOS_VERSIONS ?? 80);
/** Milliseconds between two publications: several versions of a target come and go between two of its checks. */
const PACE_MS = 200;
/** So few that most go into the archive. */
const KEEP_REPORTS = 5;

interface Watched extends PublishedTarget {
  /** Its name in its project root. */
  key: `${"plugin" | "service" | "project"}-${string}`;
  root: string;
  published: number;
  /** Versions that must never run. */
  bad: Set<string>;
  /** Makes a version that is rolled back, where something checks its health. */
  sick?: Record<string, string>;
}

const versionOf = ({ root, folder }: Watched): Promise<string> => readFile(join(root, folder, "version"), "utf8");

/** A plugin with a healthcheck and a service that share a root, and a project in one of its own. */
async function makeTargets(hub: RunningHub, config: string, folder: string): Promise<Watched[]> {
  const health = `  - {id: up, action: restart, plugin: tides}
  - {id: ok, action: healthcheck, plugin: tides, timeout: 5, retries: 0}\n`;
  const [shared, own] = [join(folder, "shared"), join(folder, "own")];
  const plugin = await publishedArchive(hub, "plugin", "tides", config, health);
  const service = await publishedArchive(hub, "service", "clock", config);
  const project = await publishedProject(hub, "berths", config);
  plugin.options["supervisor"] = "systemd";
  plugin.options["stays_up"] = "100ms";
  const fresh = () => ({ published: 0, bad: new Set<string>() });
  return [
    { ...plugin, ...fresh(), key: "plugin-tides", root: shared, sick: { sick: "yes" } },
    { ...service, ...fresh(), key: "service-clock", root: shared },
    { ...project, ...fresh(), key: `project-${project.slug}`, root: own },
  ];
}

/** Publishes the next version, good or bad as it comes. */
async function publishNext(target: Watched, random: () => number): Promise<void> {
  const version = `1.${target.published++}.0`;
  const chance = random();
  if (chance < 0.1) await publishForged(target, version);
  else if (chance < 0.2 && target.sick !== undefined) await publishSick(target, version);
  else await target.publish(version);
}

function publishForged(target: Watched, version: string): Promise<void> {
  target.bad.add(version);
  return target.publish(version, {}, true);
}

function publishSick(target: Watched, version: string): Promise<void> {
  target.bad.add(version);
  return target.publish(version, target.sick);
}

/** All reports of a target, archived ones included, by their deployment. */
async function reportsOf({ root, key }: Watched): Promise<string[]> {
  const folder = layoutOf(root).reports(key);
  const archived = (await readdir(folder)).includes(ARCHIVE_FILE)
    ? gunzipSync(await readFile(join(folder, ARCHIVE_FILE)))
        .toString()
        .trim()
        .split("\n")
    : [];
  const kept = await readReports(layoutOf(root), key, 1_000_000);
  return [
    ...archived.map((line) => (JSON.parse(line) as { deployment_id: string }).deployment_id),
    ...kept.map(({ deployment_id: id }) => id),
  ];
}

async function fleetOf(hub: RunningHub, name: string): Promise<FleetHost[]> {
  const [kind, slug] = name.split(":") as [Target["kind"], string];
  const { hosts } = await readFleet({ kind, slug }, { hubUrl: hub.url, apiKey: hub.adminKey, timeoutMs: 30_000 });
  return Array.fromAsync(hosts);
}

t.test(`${VERSIONS} versions through a hub that fails at random, seed ${SEED}`, async (t: Test) => {
  const random = seeded(SEED);
  const folder = temporaryFolder(t);
  const config = join(folder, "config");
  await mkdir(config);
  const door = await startDoor(t);
  const hub = await startHub(t, { dataDir: join(folder, "hub"), rateLimits: false, publicUrl: door.url });
  door.hub = hub.url;
  const targets = await makeTargets(hub, config, folder);
  const [plugin, service, project] = targets as [Watched, Watched, Watched];
  const file = join(config, "watch.yaml");
  const shared = { hub_url: door.url, interval: 1, timeout: 5, host_id: "host", keep_reports: KEEP_REPORTS };
  const entries = targets.map(({ name, root, options }) => ({ target: name, project_root: root, ...options }));
  await writeFile(file, watchYaml(shared, entries));
  const env = { PATH: `${await systemctlOf(folder, join(plugin.root, plugin.folder))}:${process.env.PATH}` };

  const { trouble, met } = chaos(random);
  door.trouble = trouble;
  const watch = start(t, "watch", ["--config", file, "--json"], { cwd: folder, env });
  await watch.untilEvent("watch.started");
  const FINAL = 5;
  for (let count = 0; count < VERSIONS - FINAL; count++) {
    await publishNext(targets[Math.floor(random() * targets.length)]!, random);
    await sleep(PACE_MS);
  }

  // The hub is well again: what was published last is what counts.
  door.trouble = () => ({ kind: "none" });
  for (const target of targets) await target.publish("2.0.0");
  for (const { root, key } of targets) await requestAction(layoutOf(root), key, "check");
  for (const { name } of targets)
    await watch.untilEvent("deploy.done", { target: name, outcome: "deployed", version: "2.0.0" });
  await publishSick(plugin, "2.0.1");
  await publishForged(service, "2.0.1");
  for (const { name } of [plugin, service])
    await watch.untilEvent("target.held", { target: name, version: "2.0.1", reason: "quarantined" });

  t.equal(watch.child.exitCode, null, "it is still there");
  watch.child.kill("SIGTERM");
  const { code, events, stderr } = await watch.ended;
  t.match({ code, stderr }, { code: 0, stderr: "" });
  for (const kind of ["lost", "answer", "truncated", "delayed"]) t.ok(met.get(kind)! > 0, `${kind}: ${met.get(kind)}`);

  const codes = new Set(events.map((event) => event.code as string | null | undefined));
  t.comment(`codes: ${[...codes].join(" ")}`);
  t.notOk(codes.has("internal"), "nothing that a hub does is a defect here");
  const named = (event: string, { name }: Watched): ProgramEvent[] =>
    events.filter((candidate) => candidate.event === event && candidate.target === name);
  // Each deploys the last version; on a slow machine one of them may have come to no other.
  const deployed = events.filter(({ event, outcome }) => event === "deploy.done" && outcome === "deployed");
  t.ok(deployed.length > targets.length, "they followed while the hub failed");
  for (const target of targets) {
    const done = named("deploy.done", target);
    const count = (outcome: string): number => done.filter((event) => event.outcome === outcome).length;
    t.comment(`${target.name}: ${done.length} deployments, ${count("deployed")} deployed, ${count("failed")} failed`);
    t.equal(await versionOf(target), "2.0.0", "it runs the last good version");
    for (const event of done) t.notOk(event.outcome === "deployed" && target.bad.has(event.version as string));
    for (const event of named("target.held", target))
      t.ok(target.bad.has(event.version as string), `${event.version} is held rightly: ${event.message}`);

    const started = named("deploy.started", target).map((event) => event.deployment_id as string);
    t.equal(started.length, done.length);
    t.same((await reportsOf(target)).toSorted(), started.toSorted(), "every deployment has its report, once");
    const [last] = await readReports(layoutOf(target.root), target.key, 1);
    const fleet = await fleetOf(hub, target.name);
    t.match(fleet, [{ host_id: "host", version: last!.resolved_version }], "the fleet says what the host says");
    t.equal(fleet[0]!.status === "success", last!.status === "success");
    t.same(await leftovers(target.root), []);
  }
  t.match(named("deploy.done", plugin).at(-1), { outcome: "rolled_back", version: "2.0.1" });
  t.match(named("deploy.done", service).at(-1), { code: "signature_invalid", version: "2.0.1" });
  t.match(named("deploy.done", project).at(-1), { outcome: "deployed", version: "2.0.0" });
  t.equal(targets.reduce((sum, { published }) => sum + published, 0) + FINAL, VERSIONS);
});
