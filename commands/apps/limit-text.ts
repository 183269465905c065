import {
  type AppLimits,
  LIMIT_NAMES,
  LIMIT_WORDS,
  type LimitName,
  type Usage,
} from "../../lib/contract/files/limit-forms.ts";
import { sizeText } from "../../lib/support/size-text.ts";

/** Lists limits in words: `512M memory, 1.5 processors`. */
export const limitsText = (limits: AppLimits): string =>
  LIMIT_NAMES.flatMap((name) => (limits[name] === undefined ? [] : [`${limits[name]} ${LIMIT_WORDS[name]}`])).join(
    ", ",
  );

/** Describes what is used: `31.2 MiB of 512M memory, 3.1 s of processors, 11 of 100 processes and threads`. */
export function usageText(used: Usage, limits: AppLimits): string {
  const most = (name: LimitName): string => (limits[name] === undefined ? "" : ` of ${limits[name]}`);
  return [
    `${sizeText(used.memory_bytes)}${most("memory")} memory`,
    `${used.cpu_seconds.toFixed(1)} s${most("cpu")} processors`,
    `${used.tasks}${most("tasks")} processes and threads`,
  ].join(", ");
}
