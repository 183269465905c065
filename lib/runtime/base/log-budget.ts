/** Limits of one plugin's log output per second, over all of its channels. */
export const LOG_LIMITS = { lines: 200, characters: 256 * 1024 } as const;

const SECOND_MS = 1000;

/** Counts what a plugin writes: its standard output and error, and its log records. */
export class LogBudget {
  readonly #onDropped: (lines: number) => void;
  #lines = 0;
  #characters = 0;
  #dropped = 0;
  #counting = false;

  /** @param onDropped called at the end of a second with the number of lines dropped in it */
  constructor(onDropped: (lines: number) => void) {
    this.#onDropped = onDropped;
  }

  /** Counts a line, or drops it. @returns whether it may be written */
  take(characters: number): boolean {
    if (!this.#counting) {
      this.#counting = true;
      setTimeout(() => this.#next(), SECOND_MS).unref();
    }
    if (this.#lines >= LOG_LIMITS.lines || this.#characters >= LOG_LIMITS.characters) {
      this.#dropped++;
      return false;
    }
    this.#lines++;
    this.#characters += characters;
    return true;
  }

  #next(): void {
    this.#counting = false;
    this.#lines = 0;
    this.#characters = 0;
    if (this.#dropped > 0) this.#onDropped(this.#dropped);
    this.#dropped = 0;
  }
}
