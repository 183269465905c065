import { setTimeout as sleep } from "node:timers/promises";

/** Time whose bytes may come at once after a pause, in milliseconds. */
const BURST_MS = 250;
/** Longest sleep before it is asked again whether the transfer still lives, in milliseconds. */
const STEP_MS = 250;

/** Bound of the rate of downloads, all that share it together. While they wait, the server has to. */
export class RateLimit {
  readonly #bytesPerMs: number;
  /** Time at which the bytes so far are paid for, by `performance.now()`. */
  #paidAt = 0;

  constructor(bytesPerSecond: number) {
    this.#bytesPerMs = bytesPerSecond / 1000;
  }

  /** Passes chunks on no faster than the rate. @param isOver whether the transfer has ended meanwhile */
  async *paced(chunks: AsyncIterable<Buffer>, isOver: () => boolean): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      this.#paidAt = Math.max(this.#paidAt, performance.now() - BURST_MS) + chunk.length / this.#bytesPerMs;
      const dueAt = this.#paidAt;
      for (let wait = dueAt - performance.now(); wait > 0 && !isOver(); wait = dueAt - performance.now())
        await sleep(Math.min(wait, STEP_MS));
      yield chunk;
    }
  }
}
