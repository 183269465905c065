import { readdirSync, readFileSync } from "node:fs";

/** Processor time and memory of a program with all that it has started, as the kernel counts them. */

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

/** Milliseconds of processor time, of ended children too. */
export function cpuMsOf(pid: number): number {
  return treeOf(pid).reduce((sum, each) => {
    const fields = readFileSync(`/proc/${each}/stat`, "latin1").split(") ").at(-1)!.split(" ");
    return sum + fields.slice(11, 15).reduce((ticks, field) => ticks + Number(field) * 10, 0);
  }, 0);
}

/** Proportional share of memory in MB: a page that several processes share counts in parts. */
export function pssMbOf(pid: number): number {
  const kilobytes = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "latin1"))?.[1];
  return Number(kilobytes) / 1024;
}
