import { type AppLimits, LIMIT_NAMES, type LimitName, memoryBytes, type Usage } from "../contract/files/limit-forms.ts";
import type { MemberGroup } from "../support/control-groups/member-groups.ts";
import { limitGroup, usedBy, usedIn } from "../support/control-groups/member-limits.ts";
import type { Membership } from "./membership.ts";
import { processesOf } from "./processes.ts";

/**
 * Limits the processes of a program that is about to start.
 *
 * @param group of its own, which is there; undefined for none
 * @returns the limits that nothing enforces here
 */
export async function limited(group: MemberGroup | undefined, limits: AppLimits): Promise<LimitName[]> {
  const { memory, cpu, tasks } = limits;
  if (group === undefined) return LIMIT_NAMES.filter((name) => limits[name] !== undefined);
  const memoryMax = memory === undefined ? undefined : memoryBytes(memory);
  return limitGroup(group.folder, { memoryBytes: memoryMax, cpu, tasks });
}

/** Returns what an application uses now. @param pid of its program, where nothing tells the others */
export async function usedNow({ group, uid }: Membership, pid: number): Promise<Usage> {
  if (group !== undefined) return usedIn(group.folder, group.pids);
  return usedBy(uid === undefined ? [pid] : await processesOf(uid));
}

/** Says which limits do nothing. */
export const unlimitedText = (unenforced: readonly LimitName[]): string =>
  `no control group limits its ${unenforced.join(", ")} here`;
