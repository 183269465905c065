import type { HubContext } from "./context.ts";
import { removeReports } from "./records/report-history.ts";

/** Old reports are looked for this often. */
const INTERVAL_MS = 60 * 60 * 1000;

/**
 * Removes deployment reports that are older than `ageMs`, now and every hour, until it is disposed. A host's newest report stays,
 * whatever its age.
 *
 * @param ageMs undefined keeps everything
 */
export function startRetention({ database, clock, logger }: HubContext, ageMs: number | undefined): AsyncDisposable {
  let running = Promise.resolve();
  const sweep = (): void => {
    if (ageMs === undefined) return;
    running = removeReports(database.kysely, new Date(clock() - ageMs).toISOString()).then(
      (removed) => void (removed > 0 && logger?.info({ removed }, "removed old deployment reports")),
      (error: unknown) => logger?.error({ err: error }, "old deployment reports could not be removed"),
    );
  };
  sweep();
  const timer = setInterval(sweep, INTERVAL_MS).unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await running;
    },
  };
}
