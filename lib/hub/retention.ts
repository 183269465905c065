import type { HubContext } from "./context.ts";
import { removeReports } from "./records/report-history.ts";

/** How often old reports are looked for. Milliseconds. */
const INTERVAL = 60 * 60 * 1000;

/** The removal of old reports, beside the requests. */
export interface Retention {
  stop(): void;
  /** A removal that was running has ended. */
  ended(): Promise<void>;
}

/**
 * Removes deployment reports that are older than `age`, now and every hour. A host's newest report stays, whatever its age.
 *
 * @param age milliseconds; undefined keeps everything
 */
export function startRetention({ database, clock, logger }: HubContext, age: number | undefined): Retention {
  let running = Promise.resolve();
  if (age === undefined) return { stop: () => {}, ended: () => running };
  const sweep = () => {
    running = removeReports(database.kysely, new Date(clock() - age).toISOString()).then(
      (removed) => void (removed > 0 && logger?.info({ removed }, "removed old deployment reports")),
      (error: unknown) => logger?.error({ err: error }, "old deployment reports could not be removed"),
    );
  };
  sweep();
  const timer = setInterval(sweep, INTERVAL);
  timer.unref();
  return { stop: () => clearInterval(timer), ended: () => running };
}
