import { setTimeout as sleep } from "node:timers/promises";
import type { Application } from "../contract/files/application.ts";
import type { TargetName } from "../contract/target.ts";
import { dueAt, iso, LATE_MS } from "./due.ts";
import { forgetJob, type JobRecord, type JobRun, readJob, recordedJobs, thisBoot, writeJob } from "./jobs.ts";
import type { Layout } from "./layout.ts";

/** Job of a release that runs now. */
export interface Job {
  id: string;
  app: Application & { schedule: string };
  /** Time since which it is installed, in milliseconds since 1970. */
  since: number;
  target: TargetName;
  release: string;
}

/** State of a run: it goes on, its program was never started, or it ended with a fault or without one. */
export type Outcome = "runs" | "never" | { fault: string | null };

/** Program that runs jobs. */
export interface JobLauncher {
  /** Returns the name of the run that was last. */
  last: (job: Job) => Promise<string>;
  /**
   * Starts a run. Calls `started` once nothing can keep its program from starting, and starts it after that.
   * `release` is the one that it runs from, where that is another one by now.
   *
   * @throws Error where it cannot be started
   */
  start: (job: Job, started: (release?: string) => Promise<void>) => Promise<void>;
  look: (id: string, run: JobRun) => Promise<Outcome>;
  /** Says what became of a run that was begun before the machine restarted. */
  afterBoot: (run: JobRun) => Outcome;
}

/** Event of a scheduler. */
export type JobEvent =
  | { event: "job.begun"; id: string; due: string; release: string }
  /** `message`: why it failed; null for a run that went well. */
  | { event: "job.ended"; id: string; message: string | null }
  /** Its last run goes on, so this one is left out. */
  | { event: "job.skipped"; id: string; due: string };

/** Parts of a scheduler. */
export interface SchedulerParts {
  layout: Layout;
  launcher: JobLauncher;
  /** Lists the jobs of now; undefined while a deployment decides what they are. */
  jobs: () => Promise<Job[] | undefined>;
  /** Ids of jobs that are this scheduler's, if they have vanished. */
  owns: (run: JobRun | null) => boolean;
  emit: (event: JobEvent) => void;
  /** Time of the clock, in milliseconds since 1970. */
  now?: () => number;
}

/** Longest time without a look at the clock, which may be set, and that while a job runs, in milliseconds. */
const LONGEST_MS = 60_000;
const BUSY_MS = 1_000;

/**
 * Begins jobs at their times: never two runs of one at once, and each at most once. What is begun is on the disk before
 * it is started, so that whoever is killed in between knows what to do.
 */
export class JobScheduler {
  readonly #parts: SchedulerParts;
  readonly #now: () => number;
  /** Jobs that it has looked at since it began. */
  readonly #seen = new Set<string>();
  /** Time since which it is there, by the clock. */
  #began: number | undefined;
  /** Time of its last look, by the clock. */
  #looked: number | undefined;
  /** Ends the sleep of now. */
  #sleeping = new AbortController();
  /** Times that were skipped for a run that goes on, each told once. */
  readonly #skipped = new Map<string, string>();

  constructor(parts: SchedulerParts) {
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
  }

  /** Looks at the jobs at their times, until the signal is aborted. Never rejects. @param warn hears what went wrong */
  async run(signal: AbortSignal, warn: (message: string) => void): Promise<void> {
    let warned: string | undefined;
    while (!signal.aborted) {
      // What is woken while it looks has it look again.
      this.#sleeping = new AbortController();
      let pauseMs: number;
      try {
        pauseMs = await this.turn();
        warned = undefined;
      } catch (error) {
        const { message } = error as Error;
        if (message !== warned) warn(`Jobs cannot be looked at: ${message}`);
        warned = message;
        pauseMs = LONGEST_MS / 6;
      }
      const awake = AbortSignal.any([signal, this.#sleeping.signal]);
      await sleep(pauseMs, undefined, { signal: awake }).catch(() => undefined);
    }
  }

  /** Has it look at once: what is installed may be something else by now. */
  wake(): void {
    this.#sleeping.abort();
  }

  /** Notes runs that have ended, and begins none. */
  async settle(): Promise<void> {
    for (const id of await recordedJobs(this.#parts.layout)) {
      const record = await readJob(this.#parts.layout, id);
      if (!record?.run || record.run.ended !== null || !this.#parts.owns(record.run)) continue;
      const outcome = await this.#outcome(id, record.run);
      if (typeof outcome === "object") await this.#end(id, record, record.run, outcome.fault);
    }
  }

  /** Ends what has ended, and begins what is due. @returns the time until the next look, in milliseconds */
  async turn(): Promise<number> {
    // While a switch is waited for, clocks may be set.
    this.#began ??= this.#now();
    const jobs = await this.#parts.jobs();
    if (jobs === undefined) return BUSY_MS;
    await this.#forget(jobs);
    const now = this.#now();
    let pauseMs = LONGEST_MS;
    for (const job of jobs) pauseMs = Math.min(pauseMs, await this.#turnOf(job));
    this.#looked = now;
    return pauseMs;
  }

  async #turnOf(job: Job): Promise<number> {
    const { layout } = this.#parts;
    const now = this.#now();
    // One that is there again after a while, such as one that was stopped, has missed what passed.
    const began = this.#seen.has(job.id) ? undefined : this.#looked === undefined ? this.#began! : now;
    const found = await readJob(layout, job.id);
    // One that was installed before the last look, and is new all the same, was stopped or not granted meanwhile.
    const since = this.#looked !== undefined && job.since > this.#looked ? job.since : now;
    const { record, due, next } = dueAt({ ...job.app, since }, found, now, began);
    let run = record.run;
    if (run !== null && run.ended === null) {
      const outcome = await this.#outcome(job.id, run);
      if (outcome === "runs") {
        if (due !== undefined) this.#skip(job.id, due);
        await this.#note(job, found, { ...record, until: iso(due === undefined ? Date.parse(record.until) : now) });
        return BUSY_MS;
      }
      const isLate = job.app.catch_up !== true && now - Date.parse(run.due) > LATE_MS;
      if (outcome === "never" && !isLate) {
        await this.#begin(job, record, due ?? Date.parse(run.due));
        return BUSY_MS;
      }
      const fault = outcome === "never" ? "it was not started, and is late by now" : outcome.fault;
      run = await this.#end(job.id, record, run, fault);
    }
    if (due !== undefined) {
      await this.#begin(job, { ...record, run }, due);
      return BUSY_MS;
    }
    await this.#note(job, found, { ...record, run });
    return next === undefined ? LONGEST_MS : Math.min(LONGEST_MS, Math.max(1, next - now));
  }

  /** Notes a job that is seen for the first time, or whose times have changed: from now on it can miss one. */
  async #note({ id }: Job, found: JobRecord | undefined, record: JobRecord): Promise<void> {
    this.#seen.add(id);
    if (found?.times !== record.times || found.until !== record.until) await writeJob(this.#parts.layout, id, record);
  }

  async #begin(job: Job, record: JobRecord, due: number): Promise<void> {
    const { layout, launcher, emit } = this.#parts;
    const { id, target, release } = job;
    const now = this.#now();
    const run: JobRun = {
      ...{ due: iso(due), begun: iso(now), target, release, boot: await thisBoot() },
      ...{ started: false, before: await launcher.last(job), ended: null, fault: null },
    };
    const until = iso(Math.max(now, due));
    await writeJob(layout, id, { ...record, until, run });
    this.#seen.add(id);
    this.#skipped.delete(id);
    try {
      await launcher.start(job, (from = release) =>
        writeJob(layout, id, { ...record, until, run: { ...run, release: from, started: true } }),
      );
      emit({ event: "job.begun", id, due: run.due, release });
    } catch (error) {
      await this.#end(id, { ...record, until }, run, (error as Error).message.replace(/\.$/, ""));
    }
  }

  async #end(id: string, record: JobRecord, run: JobRun, fault: string | null): Promise<JobRun> {
    const ended = { ...run, started: true, ended: iso(this.#now()), fault };
    await writeJob(this.#parts.layout, id, { ...record, run: ended });
    this.#parts.emit({ event: "job.ended", id, message: fault });
    return ended;
  }

  /** Asks what became of a run; one of an earlier boot has ended with it. */
  async #outcome(id: string, run: JobRun): Promise<Outcome> {
    const { launcher } = this.#parts;
    return run.boot === (await thisBoot()) ? launcher.look(id, run) : launcher.afterBoot(run);
  }

  #skip(id: string, due: number): void {
    if (this.#skipped.has(id)) return;
    this.#skipped.set(id, iso(due));
    this.#parts.emit({ event: "job.skipped", id, due: iso(due) });
  }

  /** Forgets jobs that are none any more, once their last run has ended. */
  async #forget(jobs: readonly Job[]): Promise<void> {
    const { layout, owns } = this.#parts;
    for (const id of await recordedJobs(layout)) {
      if (jobs.some((job) => job.id === id)) continue;
      const record = await readJob(layout, id);
      const run = record?.run ?? null;
      if (!owns(run)) continue;
      if (run !== null && run.ended === null && (await this.#outcome(id, run)) === "runs") continue;
      this.#seen.delete(id);
      await forgetJob(layout, id);
    }
  }
}
