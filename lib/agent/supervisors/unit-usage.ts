import { existsSync } from "node:fs";
import { join } from "node:path";
import { LIMIT_NAMES, type LimitName, type Usage } from "../../contract/files/limit-forms.ts";

/** Properties of a unit that say what it uses, and what limits it. */
export const USAGE_PROPERTIES = [
  ...["ControlGroup", "MemoryCurrent", "CPUUsageNSec", "TasksCurrent"],
  ...["MemoryMax", "CPUQuotaPerSecUSec", "TasksMax"],
] as const;

type UsageProperties = Partial<Record<(typeof USAGE_PROPERTIES)[number], string>>;

const MOUNT = "/sys/fs/cgroup";
/** Number by which systemd says that it does not know one. */
const UNKNOWN = 2 ** 64;

/** Returns what a unit uses, and which of its limits the kernel has no controller for. */
export function unitUsage(unit: UsageProperties): { used: Usage | null; unenforced: LimitName[] } {
  const number = (text: string | undefined): number | undefined => {
    const value = Number(text ?? "x");
    return Number.isNaN(value) || value >= UNKNOWN ? undefined : value;
  };
  const [memory, nanoseconds, tasks] = [unit.MemoryCurrent, unit.CPUUsageNSec, unit.TasksCurrent].map(number);
  const isCounted = memory !== undefined || nanoseconds !== undefined || tasks !== undefined;
  const used = { memory_bytes: memory ?? 0, cpu_seconds: (nanoseconds ?? 0) / 1e9, tasks: tasks ?? 0 };
  const files: Record<LimitName, [set: boolean, file: string]> = {
    memory: [number(unit.MemoryMax) !== undefined, "memory.max"],
    cpu: [(unit.CPUQuotaPerSecUSec ?? "infinity") !== "infinity", "cpu.max"],
    tasks: [number(unit.TasksMax) !== undefined, "pids.max"],
  };
  // Without a group it does not run: nothing is to be limited.
  const group = unit.ControlGroup ?? "";
  const folder = join(MOUNT, group);
  const isSeen = group !== "" && existsSync(folder);
  const unenforced = LIMIT_NAMES.filter(
    (name) => isSeen && files[name][0] && !existsSync(join(folder, files[name][1])),
  );
  return { used: isCounted ? used : null, unenforced };
}
