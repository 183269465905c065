// Holds: which failures blame a version (lib/contract/blame.ts)
// In a process of its own: it ends programs.
/** A watch is ended in the middle of a rollout's version, in each way and at each moment: the version is good. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import type { RolloutRecord } from "../../lib/contract/rollouts/records.ts";
import { layoutOf } from "../../lib/releases/layout.ts";
import { readQuarantine } from "../../lib/releases/quarantine.ts";
import { rounds } from "../support/effort.ts";
import { type Door, startDoor } from "../support/hub/door.ts";
import { type RunningHub, startHub } from "../support/hub/harness.ts";
import { publishedArchive, watchYaml } from "../support/hub/published.ts";
import { systemctlOf } from "../support/programs/systemctl.ts";
import { type Running, start } from "../support/programs/watch-program.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const CHECK = "  - {id: check, action: healthcheck, plugin: tides}\n";

/** A host that runs 1.0.0, with a rollout of 2.0.0 that one failing host halts. */
async function rolling(t: Test, maxFailing: string) {
  const folder = temporaryFolder(t);
  const config = join(folder, "config");
  await mkdir(config);
  const door = await startDoor(t);
  const hub = await startHub(t, { dataDir: join(folder, "hub"), rateLimits: false, publicUrl: door.url });
  door.hub = hub.url;
  const tides = await publishedArchive(hub, "plugin", "tides", config, CHECK);
  const file = join(config, "watch.yaml");
  const shared = {
    ...{ hub_url: door.url, project_root: "../root", interval: 1, host_id: "edge" },
    ...{ supervisor: "systemd", stays_up: "2s" },
  };
  await writeFile(file, watchYaml(shared, [{ target: tides.name, ...tides.options }]));
  const programs = await systemctlOf(folder, "tides");
  const watch = (): Running =>
    start(t, "sealift", ["watch", "--config", file, "--json"], {
      cwd: folder,
      env: { PATH: `${programs}:${process.env["PATH"]}` },
    });
  await tides.publish("1.0.0");
  const first = watch();
  await first.untilEvent("deploy.done", { outcome: "deployed" });
  first.child.kill("SIGTERM");
  await first.ended;
  const base = `/devkeys/projects/${await idOf(hub)}/rollouts`;
  const rules = { version: "2.0.0", waves: ["100%"], soak_seconds: 0, max_failing: maxFailing, min_done: "100%" };
  const { id } = (await hub.call("POST", base, { json: rules })).body as RolloutRecord;
  await tides.publish("2.0.0");
  const rollout = async (): Promise<RolloutRecord> => (await hub.call("GET", `${base}/${id}`)).body as RolloutRecord;
  return { root: join(folder, "root"), door, watch, rollout };
}

const idOf = async (hub: RunningHub): Promise<string> => {
  const { items } = (await hub.call("GET", "/devkeys/projects")).body as { items: { id: string; slug: string }[] };
  return items.find(({ slug }) => slug === "tides")!.id;
};

/** Moments of a deployment: each resolves once the watch is there. */
const MOMENTS = {
  "its health check": (watch: Running) => watch.untilEvent("step.started", { action: "healthcheck" }),
  "its download": async (watch: Running, door: Door) => {
    const asked = Promise.withResolvers<void>();
    door.trouble = ({ path }) => {
      if (!path.includes("/install")) return { kind: "none" };
      asked.resolve();
      return { kind: "delayed", ms: 60_000 };
    };
    await Promise.race([asked.promise, sleep(30_000).then(() => Promise.reject(new Error("no download began")))]);
    door.trouble = () => ({ kind: "none" });
    await watch.untilEvent("deploy.started");
  },
};

const SIGNALS = ["SIGTERM", "SIGINT", "SIGKILL"] as const;

/** Waits for the state of a rollout in which it stays or that it reaches. */
async function reached(rollout: () => Promise<RolloutRecord>, is: (found: RolloutRecord) => boolean) {
  for (let tries = 0; tries < 300; tries++) {
    const found = await rollout();
    if (is(found)) return found;
    await sleep(100);
  }
  return rollout();
}

for (const [maxFailing, least] of [
  ["0", 6],
  ["2%", 2],
] as const)
  t.test(
    `the rollout of a good version goes on after each end of a watch, with --max-failing ${maxFailing}`,
    async (t) => {
      const h = await rolling(t, maxFailing);
      const moments = Object.entries(MOMENTS);
      for (let round = 0; round < rounds(least, 40); round++) {
        const [name, moment] = moments[round % moments.length]!;
        const signal = SIGNALS[Math.floor(round / moments.length) % SIGNALS.length]!;
        const watch = h.watch();
        await moment(watch, h.door);
        watch.child.kill(signal);
        await watch.ended;
        if (signal !== "SIGKILL") {
          const told = await reached(h.rollout, ({ state, waits }) => state !== "running" || waits.length > 0);
          t.match(told, { state: "running", waits: [{ cause: "interrupted", hosts: 1 }] }, `${signal} in ${name}`);
          t.match(told.awaited, [{ host_id: "edge", waits: "interrupted" }]);
        }
        const version = await readFile(join(h.root, "plugins/tides/version"), "utf8");
        if (signal !== "SIGKILL") t.equal(version, "1.0.0", "and what ran before is back");
      }
      t.same(await readQuarantine(layoutOf(h.root), "plugin-tides"), [], "nothing is in quarantine");
      const last = h.watch();
      await last.untilEvent("deploy.done", { outcome: "deployed", version: "2.0.0" });
      t.match(await reached(h.rollout, ({ state }) => state !== "running"), { state: "completed", halt: null });
    },
  );
