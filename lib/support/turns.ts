import { setImmediate as nextTurn } from "node:timers/promises";

/** Bytes between two turns of the event loop. */
const TURN_BYTES = 4 * 1024 * 1024;

/** Yields to signals and other work now and then while files are read and written synchronously. */
export class Turns {
  readonly #signal: AbortSignal | undefined;
  #sinceTurn = 0;

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** Yields if a turn is due after some more bytes; otherwise returns undefined. @throws the reason of the signal */
  after(bytes: number): Promise<void> | undefined {
    this.#sinceTurn += bytes;
    return this.#sinceTurn < TURN_BYTES ? undefined : this.#take();
  }

  async #take(): Promise<void> {
    this.#sinceTurn = 0;
    await nextTurn();
    this.#signal?.throwIfAborted();
  }
}
