export interface RestartLimits {
  max_restarts: number;
  restart_window_seconds: number;
  backoff_ms: number;
}

/** Milliseconds; back-off stops growing here. */
const MAX_PAUSE_MS = 30_000;

/** Decides when an ended process is started again: pauses double, and too many ends within the window are the last. */
export class RestartPolicy {
  readonly #limits: RestartLimits;
  readonly #now: () => number;
  #ends: number[] = [];

  constructor(limits: RestartLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Notes an end. Returns the pause in milliseconds, or undefined when the process is to stay down. */
  next(): number | undefined {
    const { max_restarts, restart_window_seconds, backoff_ms } = this.#limits;
    const now = this.#now();
    this.#ends = this.#ends.filter((end) => now - end < restart_window_seconds * 1000);
    this.#ends.push(now);
    if (this.#ends.length > max_restarts) return undefined;
    return Math.min(backoff_ms * 2 ** (this.#ends.length - 1), MAX_PAUSE_MS);
  }
}
