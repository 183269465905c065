import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { ifThere } from "../files.ts";
import { CPU_PERIOD_US } from "./control-group.ts";
import { controllersIn, makeRoom } from "./find-groups.ts";
import { OWN_LEAF, ownPlace } from "./own-group.ts";

/** Limits of groups of member-groups.ts, where the kernel gives them controllers. */

/** Limits of one group; undefined for none. */
export interface MemberLimits {
  memoryBytes?: number | undefined;
  /** Processors: 1.5 is one and a half. */
  cpu?: number | undefined;
  tasks?: number | undefined;
}

/**
 * Has the kernel limit the groups below a folder, and moves this process into a leaf beside them for that.
 *
 * @returns why nothing can be limited, if so
 */
export async function enableLimits(parent: string): Promise<string | undefined> {
  try {
    const controllers = await controllersIn(parent);
    const { folder } = ownPlace();
    const isRoot = (await ifThere(readFile(join(parent, "cgroup.type"), "latin1"))) === undefined;
    if (basename(folder) !== OWN_LEAF && folder === parent && !isRoot) await makeRoom(parent);
    await writeFile(join(parent, "cgroup.subtree_control"), controllers.map((name) => `+${name}`).join(" "));
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Writes the limits of a group, as far as it has the files of its controllers. @returns those that do nothing */
export async function limitGroup(
  folder: string,
  { memoryBytes, cpu, tasks }: MemberLimits,
): Promise<("memory" | "cpu" | "tasks")[]> {
  const limited = async (file: string, value: string): Promise<boolean> =>
    writeFile(join(folder, file), value, { flag: "r+" }).then(
      () => true,
      () => false,
    );
  const memory = await limited("memory.max", memoryBytes === undefined ? "max" : String(memoryBytes));
  // Missing where the kernel counts no swap: then there is none to limit.
  await limited("memory.swap.max", memoryBytes === undefined ? "max" : "0");
  const quota = cpu === undefined ? "max" : String(Math.round(cpu * CPU_PERIOD_US));
  const processor = await limited("cpu.max", `${quota} ${CPU_PERIOD_US}`);
  const processes = await limited("pids.max", tasks === undefined ? "max" : String(tasks));
  return [
    ...(memoryBytes !== undefined && !memory ? (["memory"] as const) : []),
    ...(cpu !== undefined && !processor ? (["cpu"] as const) : []),
    ...(tasks !== undefined && !processes ? (["tasks"] as const) : []),
  ];
}

/** Kernel's ticks in a second, and bytes of a page, as almost every Linux has them. */
const TICKS = 100;
const PAGE = 4096;

/** Adds up what processes use, by the kernel's facts of each. */
export function usedBy(pids: readonly number[]): { memory_bytes: number; cpu_seconds: number; tasks: number } {
  const used = { memory_bytes: 0, cpu_seconds: 0, tasks: 0 };
  for (const pid of pids) {
    try {
      const text = readFileSync(`/proc/${pid}/stat`, "latin1");
      const fields = text
        .slice(text.lastIndexOf(")") + 2)
        .split(" ")
        .map(Number);
      used.cpu_seconds += (fields[11]! + fields[12]!) / TICKS;
      used.tasks += fields[17]!;
      used.memory_bytes += fields[21]! * PAGE;
    } catch {
      // It has ended meanwhile.
    }
  }
  return used;
}

/** Returns what a group uses: what its controllers count, and else the sum of its processes. */
export function usedIn(folder: string, pids: readonly number[]): ReturnType<typeof usedBy> {
  const number = (file: string, pattern = /(\d+)/): number | undefined => {
    try {
      return Number(pattern.exec(readFileSync(join(folder, file), "latin1"))?.[1]);
    } catch {
      return undefined;
    }
  };
  const sum = usedBy(pids);
  const micro = number("cpu.stat", /^usage_usec (\d+)/m);
  return {
    memory_bytes: number("memory.current") ?? sum.memory_bytes,
    cpu_seconds: micro === undefined ? sum.cpu_seconds : micro / 1e6,
    tasks: number("pids.current") ?? sum.tasks,
  };
}
