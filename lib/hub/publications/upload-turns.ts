interface Waiting {
  bytes: number;
  resume: () => void;
}

/**
 * Bytes of uploads handled in one turn of the event loop, or at most twice that: hashing them takes half a millisecond.
 * Otherwise thirty publishers would fill a turn with megabytes, for which every poll would wait.
 */
const TURN_BYTES = 128 * 1024;

/** Shares the turns of the event loop among uploads, first come, first served. */
export class UploadTurns {
  readonly #most: number;
  #left: number;
  #waiting: Waiting[] = [];
  #isScheduled = false;

  constructor(most = TURN_BYTES) {
    this.#most = most;
    this.#left = most;
  }

  /** Counts bytes that an upload has just handled. @returns a promise to await before continuing; undefined for none */
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

/** Turns of all uploads of this process. */
export const uploadTurns = new UploadTurns();

/** Turns of everything that parses stored documents: a chunk takes milliseconds, so each turn has one. */
const parsingTurns = new UploadTurns(64 * 1024);

/** Passes on the bytes of a document that is parsed as they come, by turns with all others of this process. */
export async function* byTurns(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    await parsingTurns.take(chunk.length);
    yield chunk;
  }
}
