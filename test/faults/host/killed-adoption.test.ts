// Only in test:all: an adoption is killed at each of its steps.
/** A deployment over folders that were installed by hand, killed at random instants of its switch. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { deploy } from "../../../lib/agent/deployment/deploy.ts";
import { Random } from "../../../scripts/fuzz/random.ts";
import { ADOPTING, adoptingOptions, BY_HAND, FILES } from "../../support/host/adopting.ts";
import { plant } from "../../support/host/project-root.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const PROGRAM = fileURLToPath(new URL("../../support/programs/adopting-program.ts", import.meta.url));
const KILLS = 6;

/**
 * Runs the deployment in a process of its own.
 *
 * @param killAfterMs milliseconds after the beginning of the switch
 * @returns milliseconds that the switch took
 */
async function switchIn(root: string, killAfterMs?: number): Promise<number> {
  const child = spawn(process.execPath, [PROGRAM, root], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "close");
  let [started, tookMs] = [0, 0];
  for await (const event of createInterface({ input: child.stdout })) {
    if (event === "switch.done") tookMs = performance.now() - started;
    if (event !== "switch.started") continue;
    started = performance.now();
    if (killAfterMs !== undefined) void sleep(killAfterMs).then(() => child.kill("SIGKILL"));
  }
  await ended;
  return tookMs;
}

async function newRoot(t: Test): Promise<string> {
  const root = temporaryFolder(t);
  await plant(root, BY_HAND);
  return root;
}

/** The version that runs, when all of its files are there; the host's own data has to be there in any case. */
async function running(root: string): Promise<string> {
  const read = (name: string): Promise<string> => readFile(join(root, "plugins/a", name), "utf8").catch(String);
  if ((await read("data/own")) !== "own") return "its data is lost";
  const versions = new Set(await Promise.all(FILES.map(read)));
  return versions.size === 1 ? [...versions].join() : `mixed: ${[...versions].join(", ")}`;
}

t.test("an adoption that is killed at any instant leaves the old folder or the new release, whole", async (t) => {
  const reference = await newRoot(t);
  const wholeMs = await switchIn(reference);
  t.equal(await running(reference), "1.0.0");
  const random = new Random(1);
  const found = new Map<string, number>();
  for (let kill = 0; kill < KILLS; kill++) {
    const root = await newRoot(t);
    await switchIn(root, (random.below(1_000) / 1_000) * wholeMs);
    const version = await running(root);
    found.set(version, (found.get(version) ?? 0) + 1);
    t.match(version, /^(?:by hand|1\.0\.0)$/);
    t.match((await deploy(ADOPTING, adoptingOptions(root), () => {})).status, "success");
    t.equal(await running(root), "1.0.0", "the next run ends in the new release");
    t.equal(await readFile(join(root, "plugins/a/data/seed"), "utf8"), "seed");
    const left = (await readdir(root, { recursive: true })).filter((name) =>
      /\.tmp$|\.link-|\.seed-|journal/.test(name),
    );
    t.same(left, []);
  }
  t.comment(`${Math.round(wholeMs)} ms: ${[...found].map(([version, times]) => `${times} × ${version}`).join(", ")}`);
});
