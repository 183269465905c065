import { type AppLimits, LIMIT_NAMES, type LimitName, memoryBytes, type Usage } from "../contract/files/limit-forms.ts";
import { limitGroup, usedBy, usedIn } from "../support/control-groups/member-limits.ts";
import type { Membership } from "./membership.ts";
import { processesOf } from "./processes.ts";

/** Limits the processes of an application that is about to start. @returns the limits that nothing enforces here */
export async function limited({
  membership,
  limits,
}: {
  membership: Membership;
  limits: AppLimits;
}): Promise<LimitName[]> {
  const { memory, cpu, tasks } = limits;
  if (membership.group === undefined) return LIMIT_NAMES.filter((name) => limits[name] !== undefined);
  const memoryMax = memory === undefined ? undefined : memoryBytes(memory);
  return limitGroup(membership.group.folder, { memoryBytes: memoryMax, cpu, tasks });
}

/** Returns what an application uses now. @param pid of its program, where nothing tells the others */
export async function usedNow({ group, uid }: Membership, pid: number): Promise<Usage> {
  if (group !== undefined) return usedIn(group.folder, group.pids);
  return usedBy(uid === undefined ? [pid] : await processesOf(uid));
}
