import type { Logger } from "../../support/logging.ts";
import type { Database } from "../records/port.ts";
import { addCounts, removeCounts } from "../records/rate-counts.ts";

/** Interval at which hubs exchange counts, in milliseconds; within it they may undercount. */
const EXCHANGE_INTERVAL_MS = 1000;
/** Share of its limit below which a counter is kept local. */
const EXCHANGED_PART = 0.05;
/** Most counters per window. The oldest are dropped first, those beyond half of their limit last. */
const MAX_COUNTERS = 20_000;

interface Counter {
  /** Count of all hubs, as last read from the database. */
  shared: number;
  /** Count of this hub since the last exchange. */
  own: number;
  max: number;
}

function add(counters: Map<string, Counter>, key: string, counter: Counter): void {
  if (counters.size >= MAX_COUNTERS) counters.delete(counters.keys().next().value!);
  counters.set(key, counter);
}

/** Counters of one time window. Hubs on one PostgreSQL add up their counts in the background. */
export class SharedCounts implements Disposable {
  readonly #database: Database;
  readonly #clock: () => number;
  readonly #logger: Logger | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  #windowStart = 0;
  #counters = new Map<string, Counter>();
  /** Counters beyond half of their limit, which new ones cannot push out. */
  #near = new Map<string, Counter>();
  #exchanging = false;

  constructor(database: Database, clock: () => number, logger?: Logger) {
    this.#database = database;
    this.#clock = clock;
    this.#logger = logger;
    if (database.dialect === "postgres")
      this.#timer = setInterval(() => void this.exchange(), EXCHANGE_INTERVAL_MS).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** Increments a counter. Returns its value in this window, and when the window ends. */
  count(key: string, windowMs: number, max: number): { current: number; ttl: number } {
    const endsInMs = this.#enterWindow(windowMs);
    let counter = this.#near.get(key) ?? this.#counters.get(key);
    if (counter === undefined) add(this.#counters, key, (counter = { shared: 0, own: 0, max }));
    counter.own++;
    const current = counter.shared + counter.own;
    if (current * 2 > max && this.#counters.delete(key)) add(this.#near, key, counter);
    return { current, ttl: endsInMs };
  }

  /** Drops a counter that stands at one. */
  forgetFirst(key: string): void {
    const counter = this.#counters.get(key);
    if (counter !== undefined && counter.shared + counter.own === 1) this.#counters.delete(key);
  }

  /** Resets all counters when the window has ended. @returns milliseconds until the current window ends */
  #enterWindow(windowMs: number): number {
    const now = this.#clock();
    const windowStart = now - (now % windowMs);
    if (windowStart !== this.#windowStart) {
      this.#windowStart = windowStart;
      this.#counters = new Map();
      this.#near = new Map();
    }
    return windowStart + windowMs - now;
  }

  /** Adds this hub's counts to the shared ones. Never rejects. */
  async exchange(): Promise<void> {
    if (this.#exchanging) return;
    this.#exchanging = true;
    const windowStart = this.#windowStart;
    const counters = new Map([...this.#counters, ...this.#near]);
    const due = [...counters]
      .filter(([, { shared, own, max }]) => own > 0 && shared + own >= max * EXCHANGED_PART)
      .map(([key, { own }]) => ({ key, own }));
    try {
      if (due.length > 0) {
        const sums = await addCounts(this.#database.kysely, windowStart, due);
        for (const { key, own } of due) {
          const counter = counters.get(key);
          if (counter === undefined) continue;
          counter.own -= own;
          counter.shared = sums.get(key) ?? counter.shared + own;
        }
        await removeCounts(this.#database.kysely, windowStart);
      }
    } catch (error) {
      // Until the next exchange each hub counts alone.
      this.#logger?.warn({ err: error }, "could not exchange rate counts");
    } finally {
      this.#exchanging = false;
    }
  }
}
