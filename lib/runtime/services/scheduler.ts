import { Cron } from "croner";
import { usageError } from "../../contract/errors.ts";
import { CRON_RULES } from "../../contract/files/due-times.ts";
import type { JobConfiguration } from "../../contract/files/integration.ts";
import type { Logger } from "../../support/logging.ts";
import { messageOf } from "../guest/fault.ts";

/** Calls an action of a plugin; {@link Calls} is one. */
interface Caller {
  call(
    plugin: string,
    action: string,
    payload: unknown,
    facts: { requestId: string; depth: number },
  ): string | Promise<string>;
}

interface Job {
  configuration: JobConfiguration;
  running: boolean;
  runs: number;
}

/**
 * Makes a cron job that is not started yet.
 * @throws TypeError or RangeError for an invalid expression
 */
export function cronJob(expression: string, run: () => void): Cron {
  // croner also takes dates and nicknames such as @daily; the contract has five fields.
  if (expression.trim().split(/\s+/).length !== 5) {
    throw new TypeError(`the cron expression ${expression} has not five fields`);
  }
  const cron = new Cron(expression.trim(), { ...CRON_RULES, unref: true }, run);
  if (cron.nextRun() === null) throw new RangeError(`the cron expression ${expression} names a day that never comes`);
  return cron;
}

/** Calls actions at their times. A job that still runs at its next time skips that one. */
export class Scheduler implements Disposable {
  readonly #caller: Caller;
  readonly #logger: Logger;
  readonly #crons: Cron[] = [];
  readonly #intervals: { job: Job; seconds: number }[] = [];
  readonly #timers: NodeJS.Timeout[] = [];

  /** @throws SealiftError `config_invalid` for an invalid cron expression */
  constructor(jobs: readonly JobConfiguration[], { caller, logger }: { caller: Caller; logger: Logger }) {
    this.#caller = caller;
    this.#logger = logger;
    for (const configuration of jobs) {
      const { name, cron, interval_seconds } = configuration;
      const job = { configuration, running: false, runs: 0 };
      if (interval_seconds !== undefined) this.#intervals.push({ job, seconds: interval_seconds });
      if (cron === undefined) continue;
      try {
        this.#crons.push(cronJob(cron, () => void this.#run(job)));
      } catch (error) {
        throw usageError("config_invalid", `services.scheduler.jobs: ${name}: ${messageOf(error)}.`);
      }
    }
  }

  start(): void {
    for (const { job, seconds } of this.#intervals) {
      this.#timers.push(setInterval(() => void this.#run(job), seconds * 1000).unref());
    }
    for (const cron of this.#crons) cron.resume();
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const cron of this.#crons) cron.stop();
  }

  async #run(job: Job): Promise<void> {
    const { name, plugin, action, payload } = job.configuration;
    if (job.running) return this.#logger.warn({ job: name }, "a scheduled job still runs and is left out this time");
    job.running = true;
    try {
      await this.#caller.call(plugin, action, payload ?? {}, { requestId: `job-${name}-${++job.runs}`, depth: 0 });
    } catch (error) {
      this.#logger.error({ job: name, plugin, err: error }, "a scheduled job failed");
    } finally {
      job.running = false;
    }
  }
}
