import { dueTimes } from "../contract/files/due-times.ts";
import type { JobRecord } from "./jobs.ts";

/** Job as far as its times go. */
export interface Timed {
  schedule: string;
  timezone?: string | undefined;
  catch_up?: boolean | undefined;
  /** Time since which it is installed, in milliseconds since 1970. Default: now. */
  since?: number | undefined;
}

/** Lateness up to which a run counts as due when a scheduler begins, in milliseconds: it was restarted meanwhile. */
export const LATE_MS = 5 * 60_000;
/** Longest step back of a clock within which no run is repeated, as in cron(8), in milliseconds. */
const STEP_BACK_MS = 3 * 3_600_000;

const timesOf = ({ schedule, timezone = "UTC" }: Timed): string => `${schedule} ${timezone}`;

/**
 * Returns the record of a job that is new, or whose times are others now: nothing was missed before it was installed,
 * which may be a moment ago.
 */
const anew = (job: Timed, now: number, run: JobRecord["run"]): JobRecord => {
  const since = Math.min(now, Math.max(job.since ?? now, now - LATE_MS));
  return { v: 1, times: timesOf(job), until: iso(since), run };
};

/** Time of a job, and what is due. */
export interface Due {
  /** Record to go on with. */
  record: JobRecord;
  /** Latest time that is due, in milliseconds since 1970; earlier ones are run with it. */
  due: number | undefined;
  /** Next time. */
  next: number | undefined;
}

/**
 * Returns what of a job is due at a time. Times that were missed are due once, in one run: as long as the scheduler was
 * there, however the clock was set meanwhile; with `catch_up` always; and otherwise if they are late by a few minutes.
 *
 * @param record undefined for a job that is seen for the first time
 * @param began time since which the scheduler is there, if it looks for the first time: it may have been away before
 */
export function dueAt(job: Timed, record: JobRecord | undefined, now: number, began: number | undefined): Due {
  const times = dueTimes(job.schedule, job.timezone);
  const known = record === undefined || record.times !== timesOf(job) ? anew(job, now, record?.run ?? null) : record;
  if (typeof times === "string") return { record: known, due: undefined, next: undefined };
  let until = Date.parse(known.until);
  // After a long step back, what is to come would otherwise never be due.
  if (until - now > STEP_BACK_MS) until = now;
  if (began !== undefined && job.catch_up !== true) until = Math.max(until, began - LATE_MS);
  const latest = times.notAfter(now);
  const due = latest !== undefined && latest > until ? latest : undefined;
  return { record: { ...known, until: iso(until) }, due, next: times.after(Math.max(now, until)) };
}

export const iso = (ms: number): string => new Date(ms).toISOString();
