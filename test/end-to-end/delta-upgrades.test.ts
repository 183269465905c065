// Only in test:all: an upgrade from each of many versions.
/**
 * A watch that upgrades by deltas through many versions, while it is killed and its releases are changed.
 * `DELTA_VERSIONS` says how many (6); a nightly run takes 50. `DELTA_SEED` repeats the edits and kills of a run.
 */
import { spawn } from "node:child_process";
import { createHash, randomInt } from "node:crypto";
import { once } from "node:events";
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import t from "tap";
import { snapshot } from "../support/host/attacked-host.ts";
import { seeded } from "../support/host/chaos.ts";
import { World } from "../support/host/world.ts";

const program = (name: string): string => fileURLToPath(new URL(`../../dist/bin/${name}.js`, import.meta.url));
const VERSIONS = Number(process.env["DELTA_VERSIONS"] ?? 6);
const SEED = Number(process.env["DELTA_SEED"] ?? randomInt(2 ** 32));
const random = seeded(SEED);

/** A whole number from `from` up to, not including, `to`. */
const between = (from: number, to: number): number => from + Math.floor(random() * (to - from));

/** The files of the running release, without what tells one installation from another. */
function running(world: World, root: string): Record<string, string> {
  const current = join(root, ".sealift/current", `project-${world.projectId}`);
  return snapshot(current, (path) => /^(release\.json|contents\.ndjson|[^/]+\.env)$/.test(path));
}

/**
 * Runs a watch for one round, and kills it after a while if `killAfterMs` says so.
 *
 * @returns its events, if it came to its end
 */
function upgrade(world: World, root: string, killAfterMs?: number): Promise<string | undefined> {
  const [, id, ...rest] = world.deployArgs(root);
  return ended(world, ["watch", `project:${id!}`, ...rest, "--once"], killAfterMs);
}

/** Deploys as an operator does a version that the watch holds back, since it was killed while it fetched it. */
const upgradeByHand = (world: World, root: string): Promise<string | undefined> =>
  ended(world, ["deploy-project", ...world.deployArgs(root)]);

async function ended(world: World, [name, ...args]: string[], killAfterMs?: number): Promise<string | undefined> {
  const child = spawn(process.execPath, [program(name!), ...args, "--json"], {
    stdio: ["ignore", "pipe", "ignore"],
    env: { PATH: process.env.PATH, ...world.hostSecrets() },
  });
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const closed = once(child, "close");
  if (killAfterMs !== undefined) void sleep(killAfterMs).then(() => child.kill("SIGKILL"));
  const [code] = (await closed) as [number | null];
  return code === 0 ? text : undefined;
}

/** Changes a file of a kept release, as a plugin that writes where it should not. */
function spoil(world: World, root: string): void {
  const releases = join(root, ".sealift/releases", `project-${world.projectId}`);
  const names = readdirSync(releases).filter((name) => !name.startsWith("."));
  const file = join(releases, names.toSorted()[between(0, names.length)]!, "plugins/tide-table/src/tides.js");
  appendFileSync(file, "// spoiled\n");
}

t.test("every upgrade ends in the tree of the full artifact, whatever is killed or changed", async (t) => {
  await using world = await World.make();
  t.comment(`DELTA_SEED=${SEED}`);
  const noise = createHash("shake256", { outputLength: 300_000 }).update(String(SEED)).digest();
  const root = world.path("host");
  let byDelta = 0;
  let spoiled = 0;
  for (let round = 0; round < VERSIONS; round++) {
    const version = `1.${round}.0`;
    const at = between(0, noise.length - 10);
    const data = Buffer.concat([noise.subarray(0, at), Buffer.from(version), noise.subarray(at)]);
    writeFileSync(world.path("source/plugins/tide-table/src/noise.bin"), data);
    await world.publish(version);
    if (round > 2 && round % 3 === 0) {
      spoil(world, root);
      spoiled++;
    }
    const killed = round > 0 && random() < 0.5;
    if (killed) await upgrade(world, root, between(80, 1500));
    const events = (await upgrade(world, root)) ?? (killed ? await upgradeByHand(world, root) : undefined);
    t.ok(events, `${version} is deployed`);
    if (events?.includes('"delta.chosen"') === true && !events.includes('"delta.failed"')) byDelta++;
    const full = world.path(`full-${round}`);
    await world.programs.run("deploy-project", [...world.deployArgs(full), "--no-delta"], world.hostSecrets());
    t.strictSame(running(world, root), running(world, full), `${version} is the full artifact's tree`);
  }
  t.ok(byDelta > 0, `${byDelta} of ${VERSIONS} upgrades took a delta, with ${spoiled} spoiled releases`);
  t.ok(readFileSync(join(root, "plugins/tide-table/src/noise.bin")).length > noise.length);
});
