import type { Polled } from "./target.ts";

/** Time after which a hub is asked again although its stream of hints is open, in milliseconds. */
const LONGEST_MS = 60 * 60_000;
/** Share of that time by which it is shortened at random, so that a fleet does not ask in step. */
const JITTER = 0.1;

/**
 * Whether the hub's last answer about a target still stands, so that a check needs no request. It does while a stream
 * of hints is open that the hub keeps alive, and nothing was hinted, asked for or changed here since that answer.
 */
export class StandingAnswer {
  #isFlowing = false;
  #isDoubted = true;
  #endsAt = 0;
  #askedAs: string | undefined;
  readonly #random: () => number;

  /** @param random from 0 to 1 */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** Notes that the stream has opened or ended; after each opening the hub is asked once. */
  flows(isFlowing: boolean): void {
    this.#isFlowing = isFlowing;
    this.#isDoubted = true;
  }

  /** Makes the next check ask the hub: it has hinted, or a person wants to know. */
  doubt(): void {
    this.#isDoubted = true;
  }

  /**
   * Asks the hub, unless its last answer stands. What is hinted meanwhile, and a failure, leave doubt.
   *
   * @param as what this host says of itself in the request: another text is asked with
   * @param isDue whether the hub is to be asked in any case, as while a window should have opened: no hint tells that
   *   it has, and it does by the hub's clock
   * @returns `changed: false` where nobody was asked
   */
  async polled(as: string, isDue: boolean, ask: () => Promise<Polled>): Promise<Polled> {
    const stands = this.#isFlowing && !this.#isDoubted && as === this.#askedAs && performance.now() < this.#endsAt;
    if (stands && !isDue) return { changed: false };
    this.#isDoubted = false;
    try {
      const answer = await ask();
      this.#askedAs = as;
      this.#endsAt = performance.now() + LONGEST_MS * (1 - JITTER * this.#random());
      return answer;
    } catch (error) {
      this.#isDoubted = true;
      throw error;
    }
  }
}
