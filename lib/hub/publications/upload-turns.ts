interface Waiting {
  bytes: number;
  resume: () => void;
}

/**
 * Bytes of uploads that one turn of the event loop takes, or twice that at most: hashing them takes two milliseconds.
 * Thirty publishers at once would otherwise fill a turn with megabytes, and every poll would wait for all of them.
 */
const TURN_BYTES = 512 * 1024;

/** Shares the turns of the event loop among uploads, in their order. */
export class UploadTurns {
  readonly #most: number;
  #left: number;
  #waiting: Waiting[] = [];
  #isScheduled = false;

  constructor(most = TURN_BYTES) {
    this.#most = most;
    this.#left = most;
  }

  /** Counts bytes that an upload has just handled. @returns what to await before it goes on; undefined for nothing */
  take(bytes: number): Promise<void> | undefined {
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(this.#turn);
    }
    this.#left -= bytes;
    if (this.#left > 0) return undefined;
    return new Promise((resume) => this.#waiting.push({ bytes, resume }));
  }

  readonly #turn = (): void => {
    this.#isScheduled = false;
    this.#left = this.#most;
    let left = this.#most;
    while (this.#waiting.length > 0 && left > 0) {
      const { bytes, resume } = this.#waiting.shift()!;
      left -= bytes;
      resume();
    }
    if (this.#waiting.length === 0) return;
    this.#isScheduled = true;
    setImmediate(this.#turn);
  };
}

/** The turns of all uploads of this process. */
export const uploadTurns = new UploadTurns();
