import type * as z from "zod";
import type { appLimits, usage } from "./app-limits.ts";

// Apart from the schemas, so that options and texts load none.

export type AppLimits = z.output<typeof appLimits>;
export type Usage = z.output<typeof usage>;

const UNITS: Readonly<Record<string, number>> = { M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 };
export const MEMORY = /^([1-9]\d{0,5})([MGT])$/;
export const MEMORY_FORM = "must be a size from 1M to 999999T, such as 512M or 2G";
export const CPU_FORM = "must be a number of processors from 0.01 to 1024, such as 1.5";
export const TASKS_FORM = "must be a number of processes and threads from 1 to 1000000";

/** Names of limits, with words for what each bounds. */
export const LIMIT_WORDS = { memory: "memory", cpu: "processors", tasks: "processes and threads" } as const;
export type LimitName = keyof typeof LIMIT_WORDS;
export const LIMIT_NAMES = ["memory", "cpu", "tasks"] as const satisfies LimitName[];

/** Returns the bytes of a size such as `512M`. */
export function memoryBytes(text: string): number {
  const [, number, unit] = MEMORY.exec(text) ?? [];
  return Number(number) * UNITS[unit ?? ""]!;
}

/** Returns a limit as a number, to be compared. */
function amount(limits: AppLimits, name: LimitName): number | undefined {
  if (name !== "memory") return limits[name];
  return limits.memory === undefined ? undefined : memoryBytes(limits.memory);
}

/** Returns what an application asks for beyond its limits, each in words. */
export const beyond = (asked: AppLimits, limits: AppLimits): string[] =>
  LIMIT_NAMES.filter((name) => (amount(asked, name) ?? 0) > (amount(limits, name) ?? Infinity)).map(
    (name) => `${asked[name]} ${LIMIT_WORDS[name]}, and may have ${limits[name]}`,
  );
