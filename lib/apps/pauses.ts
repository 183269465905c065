/**
 * Pause before an application is started again, in milliseconds; it doubles at each end up to the longest. That leaves
 * time for the start: what kept an application from starting may be gone for a minute at most until it answers.
 */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** Time after which an application counts as working, in milliseconds: its next end is a first one. */
const STEADY_MS = 60_000;

/** Pauses between the starts of an application that ends by itself. */
export class Pauses {
  #nextMs = FIRST_PAUSE_MS;
  #begunAt = 0;
  #timer: NodeJS.Timeout | undefined;

  /** The next pause is a first one. */
  reset(): void {
    this.#nextMs = FIRST_PAUSE_MS;
  }

  /** Notes a start. */
  begin(): void {
    this.#begunAt = performance.now();
  }

  /** Notes the end of what was started. */
  ended(): void {
    if (performance.now() - this.#begunAt >= STEADY_MS) this.reset();
  }

  /** Calls `comeBack` after a pause, unless it is cancelled. @returns the pause in milliseconds */
  next(comeBack: () => void): number {
    this.cancel();
    const pauseMs = this.#nextMs;
    this.#nextMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    this.#timer = setTimeout(comeBack, pauseMs);
    return pauseMs;
  }

  cancel(): void {
    clearTimeout(this.#timer);
  }
}
