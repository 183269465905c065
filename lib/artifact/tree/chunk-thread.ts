import { once } from "node:events";
import type { Worker } from "node:worker_threads";
import { startThread } from "../../support/thread.ts";
import { newRing, RingWriter } from "../project/ring.ts";
import type { ChunkWorkerData } from "./chunk-worker.ts";
import { ChunkList } from "./chunks.ts";

/** Free slots that one piece of a tar needs: it is as long as a slot, and may begin in the middle of one. */
const SLOTS_AHEAD = 2;

/**
 * Cuts files into chunks on a thread of its own. Their bytes are written one file behind the other, and a piece of at
 * most 512 KiB only after {@link room}.
 */
export class ChunkThread implements AsyncDisposable {
  readonly #ring: RingWriter;
  readonly #worker: Worker;
  readonly #lists: Promise<ChunkList[]>;

  /** @param sizes of the files in bytes; none is empty, and there is at least one */
  constructor(sizes: readonly number[]) {
    const ring = newRing();
    this.#ring = new RingWriter(ring);
    const data: ChunkWorkerData = { sizes, ring };
    this.#worker = startThread(import.meta.url, "chunk-worker", data);
    this.#worker.once("exit", () => this.#ring.abandon());
    this.#lists = this.#answer();
    // A publication that fails for another reason never asks for the lists.
    this.#lists.catch(() => {});
  }

  async #answer(): Promise<ChunkList[]> {
    const ended = once(this.#worker, "exit").then(() => {
      throw new Error("The thread that cuts files into chunks ended early.");
    });
    const [records] = (await Promise.race([once(this.#worker, "message"), ended])) as [Uint8Array[]];
    return records.map((found) => ChunkList.of(found));
  }

  /** Resolves when the next piece may be written, or when the thread has ended. */
  room(): Promise<void> {
    return this.#ring.room(SLOTS_AHEAD);
  }

  /** Takes the next bytes, which may be overwritten when this returns. */
  write(bytes: Uint8Array): void {
    this.#ring.write(bytes);
  }

  /** Ends the bytes. @returns the chunks of each file */
  async lists(): Promise<ChunkList[]> {
    this.#ring.end(true);
    return await this.#lists;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}
