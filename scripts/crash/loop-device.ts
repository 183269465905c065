/**
 * `npm run crash:loop -- [DURABILITY]`, as root: a power cut on real file systems. Each one lies in a file. At every
 * event of a deployment the file is copied without unmounting, which is what a disk holds when the power goes; then
 * each copy is mounted, the next run recovers, and the old release or the new one has to be there, whole.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DURABILITIES } from "../../lib/contract/deployment-defaults.ts";
import { scriptArguments } from "../arguments.ts";
import { HostFacts, installed } from "./host-facts.ts";
import { HostWorld } from "./host-world.ts";

/** Kind of file system → the options with which its copy is mounted. */
const KINDS = { ext4: "loop", xfs: "loop,nouuid", btrfs: "loop" };
const SIZE = "400M";
/** With `none` as an argument there must be faults. */
const { positionals } = scriptArguments(import.meta.filename, { allowPositionals: true });
const durability = DURABILITIES.find((name) => name === positionals[0]) ?? "full";

/** Runs a program of the system. @throws Error with its own words */
function run(program: string, ...args: string[]): void {
  const { status, stderr, error } = spawnSync(program, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${program}: ${error?.message ?? stderr.trim().split("\n")[0]}`);
}

async function check(world: HostWorld, folder: string, kind: keyof typeof KINDS): Promise<string> {
  const [image, place] = [join(folder, `${kind}.img`), join(folder, kind)];
  mkdirSync(place);
  run("truncate", "-s", SIZE, image);
  run(`mkfs.${kind}`, "-q", image);
  run("mount", "-o", "loop", image, place);
  const copies: { file: string; event: string }[] = [];
  const root = join(place, "root");
  let result;
  let old;
  let changed;
  try {
    mkdirSync(root);
    await world.deploy(root, "1.0.0");
    old = await installed(root);
    run("sync");
    const copy = (event: string): void => {
      const file = join(folder, `${kind}-${copies.length}.img`);
      run("cp", "--sparse=always", image, file);
      copies.push({ file, event });
    };
    result = await world.deploy(root, "1.1.0", { durability }, ({ event }) => copy(event));
    copy("done");
    changed = await installed(root);
  } finally {
    run("umount", place);
  }
  if (result.status !== "success") throw new Error(`the deployment failed: ${result.error?.message}`);
  const bad: string[] = [];
  for (const { file, event } of copies) {
    run("mount", "-o", KINDS[kind], file, place);
    try {
      const facts = new HostFacts(root, world.target, { old, changed, kept: {}, done: event === "done" });
      await facts.expectWhole("before the next run");
      await world.recover(root);
      await facts.expectWhole("after the next run");
      await facts.expectNothingLeft();
      await facts.expectReports(result.deployment_id);
      bad.push(...facts.faults.map((fault) => `  after ${event}: ${fault}`));
    } finally {
      run("umount", place);
      rmSync(file);
    }
  }
  if (bad.length > 0) process.exitCode = 1;
  return [`${kind}: ${copies.length} power cuts, ${bad.length} faults`, ...bad].join("\n");
}

const folder = mkdtempSync(join(tmpdir(), "sealift-loop-"));
try {
  await using world = await HostWorld.make(folder);
  for (const kind of Object.keys(KINDS) as (keyof typeof KINDS)[])
    console.log(
      await check(world, folder, kind).catch((error: unknown) => `${kind}: left out (${(error as Error).message})`),
    );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
