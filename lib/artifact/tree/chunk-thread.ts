import { ArtifactThread, type Job } from "../thread/artifact-thread.ts";
import { newRing, readRing, type Ring, RingWriter } from "../thread/ring.ts";
import { Chunker, ChunkList } from "./chunks.ts";

/** Free slots that one piece of a tar needs: it is as long as a slot, and may begin in the middle of one. */
const SLOTS_AHEAD = 2;

interface ChunksJob extends Job {
  loop: "chunks";
  /** The sizes of the files whose bytes come, one behind the other. None is empty. */
  sizes: readonly number[];
  ring: Ring;
}

/** Cuts the files whose bytes come through a ring. @returns the chunks of each, as {@link ChunkList} packs them */
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
 * Cuts files into chunks on a thread of its own. Their bytes are written one file behind the other, and a piece of at
 * most 512 KiB only after {@link room}.
 */
export class ChunkThread implements AsyncDisposable {
  readonly #ring: RingWriter;
  readonly #thread = new ArtifactThread();
  readonly #records: Promise<Uint8Array[]>;

  /** @param sizes of the files in bytes; none is empty, and there is at least one */
  constructor(sizes: readonly number[]) {
    const ring = newRing();
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
