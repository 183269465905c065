import type { Disk } from "../../../scripts/crash/disk.ts";

/** The operations of a trace that two recorders must agree on. */
export interface TraceSummary {
  /** Renames, links, syncs and barriers, in their order: what durability rests on. */
  ordered: string[];
  /** Names that were made and removed. Threads make them in any order. */
  made: string[];
  removed: string[];
}

export function summaryOf({ log }: Disk): TraceSummary {
  const summary: TraceSummary = { ordered: [], made: [], removed: [] };
  for (const operation of log) {
    if (operation.type === "barrier") summary.ordered.push("barrier");
    if (operation.type === "sync") summary.ordered.push(`sync of a ${operation.inode.kind}`);
    if (operation.type !== "names") continue;
    const [first, second] = operation.changes;
    if (second !== undefined) summary.ordered.push(`${first!.name} becomes ${second.name}`);
    else if (first!.to === undefined) summary.removed.push(first!.name);
    else if (first!.to.kind === "link") summary.ordered.push(`link ${first!.name}`);
    else summary.made.push(`${first!.to.kind} ${first!.name}`);
  }
  return { ordered: summary.ordered, made: summary.made.toSorted(), removed: summary.removed.toSorted() };
}
