import { ArtifactThread, type Job } from "../thread/artifact-thread.ts";
import { newRing, readRing, type Ring, RingWriter } from "../thread/ring.ts";
import { Chunker, ChunkList } from "./chunks.ts";

/** Free slots that a piece of a tar needs: it is as long as a slot, and may start in the middle of one. */
const SLOTS_AHEAD = 2;

interface ChunksJob extends Job {
  loop: "chunks";
  /** Sizes of the files, whose bytes arrive one after the other. None is empty. */
  sizes: readonly number[];
  ring: Ring;
}

/** Cuts files whose bytes arrive through a ring. @returns the chunks of each, packed as in {@link ChunkList} */
export function cutChunks({ sizes, ring }: ChunksJob): Uint8Array[] {
  const lists: Uint8Array[] = [];
  let list = new ChunkList();
  let left = sizes[0]!;
  const chunker = new Chunker((length, digest) => list.push(length, digest));
  readRing(ring, (bytes) => {
    for (let at = 0; at < bytes.length;) {
      const piece = bytes.subarray(at, at + left);
      chunker.update(piece);
      at += piece.length;
      left -= piece.length;
      if (left > 0) continue;
      chunker.end();
      lists.push(Uint8Array.from(list.toBuffer()));
      list = new ChunkList();
      left = sizes[lists.length] ?? 0;
    }
  });
  return lists;
}

/**
 * Cuts files into chunks on a separate thread. Write their bytes one file after the other, and a piece of at most 512
 * KiB only after {@link room}.
 */
export class ChunkThread implements AsyncDisposable {
  readonly #ring: RingWriter;
  readonly #thread = new ArtifactThread();
  readonly #records: Promise<Uint8Array[]>;

  /** @param sizes of the files in bytes; at least one, and none is empty */
  constructor(sizes: readonly number[]) {
    const ring = newRing("cut chunks");
    this.#ring = new RingWriter(ring);
    const job: ChunksJob = { loop: "chunks", sizes, ring };
    this.#records = this.#thread.ask<Uint8Array[]>(job);
    // A publication that fails for another reason never asks for the lists.
    this.#records.catch(() => this.#ring.abandon());
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
    return (await this.#records).map((found) => ChunkList.of(found));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread[Symbol.asyncDispose]();
  }
}
