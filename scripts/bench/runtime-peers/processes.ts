import { readdirSync, readFileSync } from "node:fs";

/** Lists the processes of a program and all that it has started. */

export function treeOf(pid: number): number[] {
  try {
    const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, "latin1").split(" ").filter(Boolean).map(Number),
    );
    return [pid, ...children.flatMap(treeOf)];
  } catch {
    return [];
  }
}

/** Returns the milliseconds of processor time, including ended children. */
export function cpuMsOf(pid: number): number {
  return treeOf(pid).reduce((sum, each) => {
    const fields = readFileSync(`/proc/${each}/stat`, "latin1").split(") ").at(-1)!.split(" ");
    return sum + fields.slice(11, 15).reduce((ticks, field) => ticks + Number(field) * 10, 0);
  }, 0);
}

/** Returns the proportional share of memory in MB: a page shared by several processes counts in parts. */
export function pssMbOf(pid: number): number {
  const kilobytes = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "latin1"))?.[1];
  return Number(kilobytes) / 1024;
}
