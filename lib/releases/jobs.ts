import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { later } from "../contract/later.ts";
import type { TargetName } from "../contract/target.ts";
import { namesIn } from "../support/files.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import type { Layout } from "./layout.ts";

const jobRun = later(() =>
  z.object({
    /** Time at which it was due, ISO 8601; the next one is when it was begun. */
    due: z.string(),
    begun: z.string(),
    target: z.string(),
    release: z.string(),
    /** Boot in which it was begun. */
    boot: z.string(),
    /** Whether its program was started. Until then it may be begun again. */
    started: z.boolean(),
    /** Name that its launcher gave the run before it, by which this one is told. */
    before: z.string(),
    /** Time at which it ended; null while it runs. */
    ended: z.string().nullable(),
    /** Reason why it failed; null for one that runs, or went well. */
    fault: z.string().nullable(),
  }),
);

const jobRecord = later(() =>
  z.object({
    v: z.literal(1),
    /** Schedule and zone: times of another one were never missed. */
    times: z.string(),
    /** Time up to which nothing is due any more, ISO 8601. */
    until: z.string(),
    /** Latest run. */
    run: jobRun.nullable(),
  }),
);
/** Record of a job on a host: what was due and what was begun. It is on the disk before a run is. */
export type JobRecord = z.output<typeof jobRecord>;
export type JobRun = z.output<typeof jobRun>;

const folderOf = ({ sealift }: Layout): string => join(sealift, "state", "jobs");
const EXTENSION = ".json";
const fileOf = (layout: Layout, id: string): string => join(folderOf(layout), `${id}${EXTENSION}`);

/** Reads the record of a job; undefined where it has never been due. */
export const readJob = (layout: Layout, id: string): Promise<JobRecord | undefined> =>
  readJsonFile(fileOf(layout, id), jobRecord);

/** Writes the record of a job, durably. */
export const writeJob = (layout: Layout, id: string, record: JobRecord): Promise<void> =>
  writeJsonFile(fileOf(layout, id), record);

/** Forgets a job that is no longer one. */
export const forgetJob = (layout: Layout, id: string): Promise<void> => rm(fileOf(layout, id), { force: true });

/** Lists the ids of jobs that have a record. */
export const recordedJobs = async (layout: Layout): Promise<string[]> =>
  (await namesIn(folderOf(layout)))
    .filter((name) => name.endsWith(EXTENSION) && !name.startsWith("."))
    .map((name) => name.slice(0, -EXTENSION.length));

/** Lists the jobs of a target that run now, each with its release. */
export async function runningJobs(layout: Layout, target: TargetName): Promise<{ id: string; release: string }[]> {
  const ids = await recordedJobs(layout);
  const records = await Promise.all(ids.map(async (id) => ({ id, run: (await readJob(layout, id))?.run })));
  return records.flatMap(({ id, run }) =>
    run?.ended === null && run.target === target ? [{ id, release: run.release }] : [],
  );
}

/** Returns the releases of a target from which a job runs now. */
export const releasesOfJobs = async (layout: Layout, target: TargetName): Promise<Set<string>> =>
  new Set((await runningJobs(layout, target)).map(({ release }) => release));

/** Returns the failure of a job's latest run of a release, as a clause; undefined while nothing is wrong. */
export function jobFault(record: JobRecord | undefined, release: string): string | undefined {
  const run = record?.run;
  if (!run || run.fault === null || run.release !== release) return undefined;
  return `its run of ${run.begun} failed: ${run.fault}`;
}

/** Exit codes of `timeout` for a program that it has ended: by its signal, and by force. */
const TIMED_OUT = new Set([124, 137]);

/**
 * Returns how a run ended, as a clause; null for one that went well.
 *
 * @param ending exit code; 128 and its number for a signal that ended it
 */
export function endingOf(ending: { code: number; durationMs: number }, within: number, text: string): string | null {
  const { code, durationMs } = ending;
  if (code === 0) return null;
  return TIMED_OUT.has(code) && durationMs >= within * 1000 ? `it did not end within ${within} s` : text;
}

/** Returns the id of this boot; empty where the system has none. */
export const thisBoot = (): Promise<string> =>
  readFile("/proc/sys/kernel/random/boot_id", "latin1").then(
    (text) => text.trim(),
    () => "",
  );
