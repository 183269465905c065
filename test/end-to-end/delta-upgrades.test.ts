/**
 * A host that upgrades by deltas through many versions, while its programs are killed and its releases are changed.
 * `DELTA_VERSIONS` says how many (8); a nightly run takes 50.
 */
import { spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import t from "tap";
import { snapshot } from "../support/host/attacked-host.ts";
import { World } from "../support/host/world.ts";

const PROGRAM = fileURLToPath(new URL("../../dist/bin/deploy-project.js", import.meta.url));
const VERSIONS = Number(process.env["DELTA_VERSIONS"] ?? 8);

/** The files of the running release, without what tells one installation from another. */
function running(world: World, root: string): Record<string, string> {
  const current = join(root, ".sealift/current", `project-${world.projectId}`);
  return snapshot(current, (path) => /^(release\.json|contents\.ndjson|[^/]+\.env)$/.test(path));
}

/** Runs deploy-project, and kills it after a while if `killAfterMs` says so. @returns its events, if it came to its end */
async function upgrade(world: World, root: string, killAfterMs?: number): Promise<string | undefined> {
  const child = spawn(process.execPath, [PROGRAM, ...world.deployArgs(root), "--json"], {
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
  const file = join(releases, names[randomInt(names.length)]!, "plugins/tide-table/src/tides.js");
  appendFileSync(file, "// spoiled\n");
}

t.test("every upgrade ends in the tree of the full artifact, whatever is killed or changed", async (t) => {
  await using world = await World.make();
  const noise = randomBytes(300_000);
  const root = world.path("host");
  let byDelta = 0;
  let spoiled = 0;
  for (let round = 0; round < VERSIONS; round++) {
    const version = `1.${round}.0`;
    const at = randomInt(noise.length - 10);
    const data = Buffer.concat([noise.subarray(0, at), Buffer.from(version), noise.subarray(at)]);
    writeFileSync(world.path("source/plugins/tide-table/src/noise.bin"), data);
    await world.publish(version);
    if (round > 2 && round % 3 === 0) {
      spoil(world, root);
      spoiled++;
    }
    for (let kills = randomInt(3); round > 0 && kills > 0; kills--) await upgrade(world, root, randomInt(80, 700));
    const events = await upgrade(world, root);
    t.ok(events, `${version} is deployed`);
    if (events?.includes('"delta.chosen"') === true && !events.includes('"delta.failed"')) byDelta++;
    const full = world.path(`full-${round}`);
    await world.programs.run("deploy-project", [...world.deployArgs(full), "--no-delta"], world.hostSecrets());
    t.strictSame(running(world, root), running(world, full), `${version} is the full artifact's tree`);
  }
  t.ok(byDelta > 0, `${byDelta} of ${VERSIONS} upgrades took a delta, with ${spoiled} spoiled releases`);
  t.ok(readFileSync(join(root, "plugins/tide-table/src/noise.bin")).length > noise.length);
});
