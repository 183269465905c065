import type { Logger } from "../../support/logging.ts";
import type { Database } from "../records/port.ts";

/** Interval of reading the database's clock, in milliseconds. */
const SYNC_INTERVAL_MS = 30_000;
/** Longest round trip, in milliseconds, after which an answer still tells the time accurately enough. */
const MAX_ROUND_TRIP_MS = 2000;
/** Difference of which operators are warned, in milliseconds. */
const WARN_MS = 60_000;

export interface HubClock extends Disposable {
  /** Milliseconds since 1970. */
  now: () => number;
  /** Returns the current time as ISO 8601 with milliseconds. */
  iso: () => string;
}

/**
 * Starts the hub's clock: the database's on PostgreSQL, so that keys, sessions and URLs expire at one moment for all
 * hubs.
 *
 * @param local returns this machine's clock, in milliseconds since 1970
 */
export async function startClock(database: Database, local: () => number, logger?: Logger): Promise<HubClock> {
  let offsetMs = 0;
  const sync = async (): Promise<void> => {
    const before = local();
    const there = await database.now?.();
    const after = local();
    if (there === undefined || after - before > MAX_ROUND_TRIP_MS || after < before) return;
    const offset = there - (before + after) / 2;
    if (Math.abs(offset - offsetMs) > WARN_MS) {
      logger?.warn({ difference_s: Math.round(offset / 1000) }, "this machine's clock and the database's differ");
    }
    offsetMs = offset;
  };
  await sync();
  // While the database is unreachable the last known difference stays.
  const timer = database.now && setInterval(() => void sync().catch(() => {}), SYNC_INTERVAL_MS).unref();

  const now = (): number => Math.floor(local() + offsetMs);
  let last = Number.NaN;
  let text = "";
  return {
    now,
    // Many requests fall into one millisecond, whose text is built once.
    iso() {
      const moment = now();
      if (moment !== last) text = new Date((last = moment)).toISOString();
      return text;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
