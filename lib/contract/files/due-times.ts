import { Cron } from "croner";

/**
 * Rules for cron: five fields; restricted days of the month and of the week mean either, as in POSIX. When clocks
 * change, fixed minutes and hours come once at each of their times, as in Vixie cron: not again in the repeated hour,
 * and after the gap for times within it.
 */
export const CRON_RULES = {
  mode: "5-part",
  domAndDow: false,
  sloppyRanges: true,
  fixedTimeRule: "no-wildcard",
  paused: true,
} as const;

/** Times at which something is due. */
export interface DueTimes {
  /** Returns the first time after one, in milliseconds since 1970; undefined when none comes any more. */
  after: (ms: number) => number | undefined;
  /** Returns the last time that is not after one. */
  notAfter: (ms: number) => number | undefined;
}

const FIELDS = "must have five fields, such as 30 3 * * *: minute, hour, day, month and weekday";

/**
 * Reads times as cron writes them.
 *
 * @param timezone name such as Europe/Vienna. Default: UTC
 * @returns what is wrong with them instead, if anything
 */
export function dueTimes(expression: string, timezone = "UTC"): DueTimes | string {
  // croner also takes dates and nicknames such as @daily.
  if (!/^\s*\S+(?:\s+\S+){4}\s*$/.test(expression)) return FIELDS;
  if (!isZone(timezone)) return "is no time zone of this machine, such as Europe/Vienna";
  try {
    const cron = new Cron(expression.trim(), { ...CRON_RULES, timezone });
    if (cron.nextRun() === null) return "names a day that never comes";
    return {
      after: (ms) => cron.nextRun(new Date(ms))?.getTime(),
      // croner leaves out the reference itself.
      notAfter: (ms) => cron.previousRuns(1, new Date(ms + 1))[0]?.getTime(),
    };
  } catch (error) {
    return `is not valid: ${(error as Error).message.replace(/\.$/, "")}`;
  }
}

/** Tells whether a text names a time zone; an offset such as +01:00 is none. */
function isZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
