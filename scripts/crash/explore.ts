import { chmodSync, existsSync, lstatSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Durability } from "../../lib/contract/deployment-defaults.ts";
import { Random } from "../fuzz/random.ts";
import type { Disk } from "./disk.ts";
import type { Scenario } from "./scenario.ts";
import { digestOf, durableAt, type Leaf, type State, statesOf, treeOf } from "./states.ts";

export interface Explored {
  name: string;
  operations: number;
  /** Different states that the log allows. */
  possible: number;
  checked: number;
  /** States with at least one violation. */
  bad: number;
  /** Sentence → number of states, and the first of them. */
  violations: Map<string, { count: number; example: string }>;
}

export interface ExploreOptions {
  durability: Durability;
  /** Most states to check; beyond that a sample is drawn. */
  limit: number;
  seed: number;
  /** Folder for the states. */
  folder: string;
}

/** Folder of temporary files in which states cost least. */
export const QUICK_FOLDER = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

/** States checked at a time: each waits for a program that syncs. */
const WORKERS = 4;

/** Traces a scenario, builds the states that a power cut may leave, and checks each one. */
export async function explore(scenario: Scenario, options: ExploreOptions): Promise<Explored> {
  const folder = await mkdtemp(join(options.folder, "sealift-crash-"));
  try {
    const disk = await scenario.trace(folder, options.durability);
    const { chosen, possible } = choose(disk, options);
    const result: Explored = {
      name: scenario.name,
      operations: disk.log.length,
      possible,
      checked: 0,
      bad: 0,
      violations: new Map(),
    };
    const bootId = (await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => "")).trim();
    const queue = chosen.entries();
    const work = async (): Promise<void> => {
      for (const [index, { state, tree }] of queue) {
        const root = join(folder, `state-${index}`);
        build(root, tree(), bootId);
        const told = new Set(
          disk.log.slice(0, state.point).flatMap(({ type, what }) => (type === "mark" ? [what] : [])),
        );
        const shown = (text: string): string => text.replaceAll(`${root}/`, "").replaceAll(`${folder}/`, "");
        const faults = await scenario
          .check(root, told)
          .catch((error: unknown) => [`the check fails: ${String(error)}`]);
        await rm(root, { recursive: true, force: true });
        const last = disk.log[state.point - 1]?.what ?? "none";
        count(result, faults.map(shown), shown(`after operation ${state.point} (${last}), ${state.what}`));
      }
    };
    await Promise.all(Array.from({ length: WORKERS }, work));
    return result;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns a result in sentences: counts, then each violation with the first state that has it. */
export function linesOf({ name, operations, possible, checked, bad, violations }: Explored): string[] {
  const found = [...violations].flatMap(([fault, { count: times, example }]) => [
    `  ${times} × ${fault}`,
    `      first ${example}`,
  ]);
  return [
    `${name}: ${operations} operations, ${possible} states, ${checked} different ones checked, ${bad} bad`,
    ...found,
  ];
}

function count(result: Explored, faults: readonly string[], example: string): void {
  result.checked++;
  if (faults.length > 0) result.bad++;
  for (const fault of new Set(faults)) {
    const known = result.violations.get(fault) ?? { count: 0, example };
    result.violations.set(fault, { ...known, count: known.count + 1 });
  }
}

/** Draws different states of a log: all of them if they are fewer than the limit. */
function choose(
  disk: Disk,
  { limit, seed }: ExploreOptions,
): { chosen: { state: State; tree: () => Map<string, Leaf> }[]; possible: number } {
  const random = new Random(seed);
  const durable = durableAt(disk);
  const all = [...statesOf(disk, random)];
  for (let index = all.length - 1; index > 0; index--) {
    const other = random.below(index + 1);
    [all[index], all[other]] = [all[other]!, all[index]!];
  }
  const seen = new Set<string>();
  const chosen = [];
  for (const state of all) {
    if (chosen.length >= limit) break;
    const tree = () => treeOf(disk, state, durable[state.point]!);
    const told = disk.log.slice(0, state.point).filter(({ type }) => type === "mark").length;
    const key = `${told} ${digestOf(tree())}`;
    if (seen.has(key)) continue;
    seen.add(key);
    chosen.push({ state, tree });
  }
  return { chosen, possible: all.length };
}

/** Creates a state on disk. The machine has rebooted: boot ids in files are replaced. */
function build(root: string, tree: ReadonlyMap<string, Leaf>, bootId: string): void {
  mkdirSync(root);
  for (const [path, leaf] of tree) {
    const place = join(root, path);
    if (leaf.kind === "folder") mkdirSync(place);
    else if (leaf.kind === "link") symlinkSync(leaf.text, place);
    else {
      const at = bootId === "" ? -1 : leaf.bytes.indexOf(bootId);
      const bytes = at < 0 ? leaf.bytes : Buffer.from(leaf.bytes);
      if (at >= 0) bytes.write("00000000-0000-0000-0000-000000000000", at);
      writeFileSync(place, bytes);
      setTime(place, leaf.mtimeMs);
    }
    if (leaf.kind !== "link") chmodSync(place, leaf.mode);
  }
}

/**
 * Sets a time so that `lstat` returns this exact number: Node takes seconds as a float, which is coarser than what it
 * reads.
 */
function setTime(path: string, mtimeMs: number): void {
  for (let step = 0; step < 16; step++) {
    const seconds = mtimeMs / 1000 + (step % 2 === 0 ? 1 : -1) * Math.ceil(step / 2) * 1.2e-7;
    utimesSync(path, seconds, seconds);
    if (lstatSync(path).mtimeMs === mtimeMs) return;
  }
}
