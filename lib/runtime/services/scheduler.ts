import { usageError } from "../../contract/errors.ts";
import type { JobConfiguration } from "../../contract/files/integration.ts";
import type { Logger } from "../../support/logging.ts";
import { messageOf } from "../guest/fault.ts";
import { type CronSchedule, parseCron } from "./cron.ts";

const MINUTE = 60_000;

export interface SchedulerOptions {
  calls: {
    call(
      plugin: string,
      action: string,
      payload: unknown,
      facts: { requestId: string; depth: number },
    ): string | Promise<string>;
  };
  logger: Logger;
}

interface Job {
  configuration: JobConfiguration;
  due: CronSchedule | undefined;
  running: boolean;
  runs: number;
}

/** Calls actions at their times. A job that still runs when its time comes again is left out that once. */
export class Scheduler {
  readonly #jobs: Job[];
  readonly #options: SchedulerOptions;
  readonly #timers = new Set<NodeJS.Timeout>();

  /** @throws SealiftError `config_invalid` for a cron expression that is not valid */
  constructor(jobs: readonly JobConfiguration[], options: SchedulerOptions) {
    this.#options = options;
    this.#jobs = jobs.map((configuration) => {
      const { name, cron } = configuration;
      try {
        return { configuration, due: cron === undefined ? undefined : parseCron(cron), running: false, runs: 0 };
      } catch (error) {
        throw usageError("config_invalid", `services.scheduler.jobs: ${name}: ${messageOf(error)}.`);
      }
    });
  }

  start(): void {
    for (const job of this.#jobs) {
      const { interval_seconds } = job.configuration;
      if (interval_seconds === undefined) continue;
      this.#timers.add(setInterval(() => void this.#run(job), interval_seconds * 1000).unref());
    }
    if (this.#jobs.some(({ due }) => due !== undefined)) this.#waitForMinute();
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #waitForMinute(): void {
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        const now = new Date();
        for (const job of this.#jobs) if (job.due?.(now)) void this.#run(job);
        this.#waitForMinute();
      },
      // Just after the full minute: a timer that fires early would miss it.
      MINUTE - (Date.now() % MINUTE) + 50,
    ).unref();
    this.#timers.add(timer);
  }

  async #run(job: Job): Promise<void> {
    const { logger, calls } = this.#options;
    const { name, plugin, action, payload } = job.configuration;
    if (job.running) return logger.warn({ job: name }, "a scheduled job still runs and is left out this time");
    job.running = true;
    try {
      await calls.call(plugin, action, payload ?? {}, { requestId: `job-${name}-${++job.runs}`, depth: 0 });
    } catch (error) {
      logger.error({ job: name, plugin, err: error }, "a scheduled job failed");
    } finally {
      job.running = false;
    }
  }
}
