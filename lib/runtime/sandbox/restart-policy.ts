/** Limits of the restarts of one process (integration.yaml, `plugins.sandbox`). */
export interface RestartLimits {
  max_restarts: number;
  restart_window_seconds: number;
  backoff_ms: number;
}

/** Longest pause, in milliseconds. */
const MAX_PAUSE_MS = 30_000;

/**
 * Reason for which a process needs a successor: it ended, its loop is blocked, or its callers filled its memory. The
 * first blockage causes no pause, and the plugin is not blamed for its callers.
 */
export type End = "ended" | "blocked" | "callers";

/** Decides when a process is started again: pauses double, until there were too many ends within the window. */
export class RestartPolicy {
  readonly #limits: RestartLimits;
  readonly #now: () => number;
  #ends: { at: number; end: End }[] = [];

  constructor(limits: RestartLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Records an end. Returns the pause in milliseconds, or undefined when the process is to stay down. */
  next(end: End = "ended"): number | undefined {
    const { max_restarts, restart_window_seconds, backoff_ms } = this.#limits;
    const now = this.#now();
    this.#ends = this.#ends.filter(({ at }) => now - at < restart_window_seconds * 1000);
    this.#ends.push({ at: now, end });
    if (this.#ends.filter((each) => each.end !== "callers").length > max_restarts) return undefined;
    if (end === "blocked" && this.#ends.length === 1) return 0;
    return Math.min(backoff_ms * 2 ** (this.#ends.length - 1), MAX_PAUSE_MS);
  }

  /** Forgets the last end: the process has recovered. */
  forgive(): void {
    this.#ends.pop();
  }
}
