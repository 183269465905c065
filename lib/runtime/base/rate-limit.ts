/** Token bucket: `calls` at once, then as many per period, spread evenly. */
export class RateLimit {
  readonly #calls: number;
  readonly #perMillisecond: number;
  readonly #now: () => number;
  #tokens: number;
  #at: number;

  constructor(
    { calls, period_seconds }: { calls: number; period_seconds: number },
    now: () => number = () => performance.now(),
  ) {
    this.#calls = calls;
    this.#perMillisecond = calls / (period_seconds * 1000);
    this.#now = now;
    this.#tokens = calls;
    this.#at = now();
  }

  /** Takes one call. Returns 0, or the seconds until one is available. */
  take(): number {
    const now = this.#now();
    this.#tokens = Math.min(this.#calls, this.#tokens + (now - this.#at) * this.#perMillisecond);
    this.#at = now;
    if (this.#tokens >= 1) {
      this.#tokens -= 1;
      return 0;
    }
    return (1 - this.#tokens) / this.#perMillisecond / 1000;
  }
}
