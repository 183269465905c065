import { constants, createZstdDecompress, type ZstdDecompress } from "node:zlib";
import { artifactError, asSealiftError, SealiftError } from "../../contract/errors.ts";
import { freeBuffer } from "../../support/buffer-pacing.ts";
import { type Limits, RATIO_FREE_BYTES } from "../limits.ts";
import { ArtifactThread } from "../thread/artifact-thread.ts";
import { type LaneTrace, traceLane, waiting } from "../thread/lane-trace.ts";
import { newRing, RingWriter } from "../thread/ring.ts";
import { FileTable } from "../tree/file-table.ts";
import { exceeded } from "../tree/safe-path.ts";
import type { TreeListing } from "../tree/tree-listing.ts";
import type { UnpackedTree, UnpackJob } from "./unpack-loop.ts";
import { FrameWalker, MAX_WINDOW_LOG } from "./zstd-frame.ts";

/** Bytes per batch to and from the decoder: each costs a round trip to the thread pool. */
const BATCH_BYTES = 512 * 1024;

export interface Unpacked {
  entries: number;
  files: number;
  /** Total size of all files, in bytes. */
  bytes: number;
  listing: TreeListing;
}

/**
 * Unpacks plaintext (one zstd frame holding a tar) into the staging folder. Node's thread pool decompresses the frame;
 * a worker thread receives the output through a ring of shared memory, reads the tar in it and writes the files.
 *
 * Never fails while bytes arrive: after an error it ignores the rest, so that the caller still learns whether the bytes
 * were authentic. {@link result} then throws the first error.
 */
export class Unpacker implements AsyncDisposable {
  readonly #limits: Limits;
  readonly #thread = new ArtifactThread();
  readonly #ring: RingWriter;
  readonly #decoder: ZstdDecompress;
  readonly #lane = traceLane("decode");
  readonly #walker = new FrameWalker();
  /** Batch being gathered; the other one is with the decoder. */
  #batch = Buffer.allocUnsafeSlow(BATCH_BYTES);
  #other = Buffer.allocUnsafeSlow(BATCH_BYTES);
  #batchBytes = 0;
  /** Resolves when the decoder has taken the other batch. */
  #taken: Promise<void> = Promise.resolve();
  #take: () => void = () => {};
  /** Ends the traced wait of the decoder for a batch. */
  #endStarving: (() => void) | undefined;
  /** Resolves at the end of the decoder's output. */
  readonly #delivered: Promise<void>;
  #compressed = 0;
  #produced = 0;
  /** Fault found on the decoder's side: later bytes were not given to the worker. */
  #failure: SealiftError | undefined;
  #workerFailure: SealiftError | undefined;
  #outcome: Unpacked | undefined;
  /** Settles when the thread no longer reads. */
  readonly #ended: Promise<void>;

  /**
   * @param folder an empty folder of mode 0700
   * @param onUnpacked called now and then with the bytes of files written so far
   */
  constructor(folder: string, limits: Limits, onUnpacked?: (bytes: number) => void) {
    this.#limits = limits;
    const ring = newRing("unpack");
    this.#ring = new RingWriter(ring, this.#lane);
    this.#decoder = createZstdDecompress({
      chunkSize: BATCH_BYTES,
      params: { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG },
    });
    // A destroyed decoder calls no callbacks.
    this.#decoder.once("close", () => this.#take());
    const job: UnpackJob = { loop: "unpack", folder, limits, ring };
    this.#ended = this.#thread
      .ask<UnpackedTree, number>(job, { ...(onUnpacked && { onTold: onUnpacked }) })
      .then(
        ({ entries, bytes, files: sent, emptyFolders }) => {
          const files = FileTable.received(sent);
          this.#outcome = { entries, files: files.length, bytes, listing: { files, emptyFolders } };
        },
        (error: SealiftError) => {
          this.#workerFailure = error;
          this.#decoder.destroy();
        },
      )
      .finally(() => this.#ring.abandon());
    this.#delivered = this.#deliver();
  }

  get #failed(): boolean {
    return this.#failure !== undefined || this.#workerFailure !== undefined;
  }

  /**
   * Takes plaintext, whose memory the caller may reuse at once. Resolves when more can be taken.
   *
   * @param lane trace of the caller's lane
   */
  async write(chunk: Uint8Array, lane?: LaneTrace): Promise<void> {
    for (let at = 0; at < chunk.length && !this.#failed;) {
      const piece = chunk.subarray(at, at + BATCH_BYTES - this.#batchBytes);
      this.#batch.set(piece, this.#batchBytes);
      this.#batchBytes += piece.length;
      at += piece.length;
      if (this.#batchBytes === BATCH_BYTES) await this.#decode(lane);
    }
  }

  /** Gives the batch to the decoder, once it has taken the previous one. */
  async #decode(lane?: LaneTrace): Promise<void> {
    await waiting(lane, "decode", this.#taken);
    this.#endStarving?.();
    this.#endStarving = undefined;
    const batch = this.#batch.subarray(0, this.#batchBytes);
    this.#batchBytes = 0;
    [this.#batch, this.#other] = [this.#other, this.#batch];
    if (this.#failed || batch.length === 0) return;
    if (!this.#walked(() => this.#walker.push(batch))) return;
    this.#compressed += batch.length;
    const taken = Promise.withResolvers<void>();
    this.#take = taken.resolve;
    this.#taken = taken.promise;
    this.#decoder.write(batch, () => {
      this.#endStarving = this.#lane?.begin("decrypt");
      taken.resolve();
    });
  }

  /** Runs a check of compressed bytes. On a fault the decoder ends: earlier bytes still count. */
  #walked(step: () => void): boolean {
    try {
      step();
      return true;
    } catch (error) {
      this.#failure ??= explain(error);
      this.#decoder.end();
      return false;
    }
  }

  /** Passes the decoder's output to the ring. Never rejects. */
  async #deliver(): Promise<void> {
    try {
      for await (const chunk of this.#decoder as AsyncIterable<Buffer>) {
        this.#count(chunk.length);
        for (let rest = chunk; ;) {
          rest = rest.subarray(this.#ring.write(rest));
          if (rest.length === 0) break;
          await this.#ring.room();
        }
        // The decoder starts a new buffer when one is full.
        if (chunk.byteOffset + chunk.length === BATCH_BYTES) freeBuffer(chunk);
      }
      if (this.#produced !== this.#walker.header?.contentSize)
        throw artifactError("zstd_invalid", "The artifact's content is shorter than its frame says.");
    } catch (error) {
      this.#failure ??= explain(error);
    }
  }

  /** Counts output against the limits. @throws ArtifactError `limit_exceeded`, `zstd_invalid` */
  #count(bytes: number): void {
    this.#produced += bytes;
    const { maxRatio } = this.#limits;
    if (this.#produced > RATIO_FREE_BYTES && this.#produced > this.#compressed * maxRatio)
      throw exceeded(`The archive unpacks to more than ${maxRatio} times its size.`, "--max-ratio");
    if (this.#produced > this.#walker.header!.contentSize)
      throw artifactError("zstd_invalid", "The artifact's content is longer than its frame says.");
  }

  /** Ends the plaintext. Resolves when every file is written, or after an error. */
  async end(): Promise<void> {
    await this.#decode();
    await this.#taken;
    if (!this.#failed && this.#walked(() => this.#walker.end())) this.#decoder.end();
    await this.#delivered;
    this.#ring.end(this.#failure === undefined);
    await this.#ended;
  }

  /** Returns the unpacked tree, once {@link end} has resolved. @throws ArtifactError that stopped the unpacking */
  result(): Unpacked {
    // The worker is at an earlier place in the bytes than the decoder, so its error comes first.
    const failure = this.#workerFailure ?? this.#failure;
    if (failure !== undefined) throw failure;
    return this.#outcome!;
  }

  /** Ends the thread; safe at any time. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ring.abandon();
    this.#decoder.destroy();
    this.#lane?.[Symbol.dispose]();
    await this.#thread[Symbol.asyncDispose]();
  }
}

function explain(error: unknown): SealiftError {
  if (error instanceof SealiftError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code?.startsWith("ZSTD_") === true)
    return artifactError("zstd_invalid", `The artifact's content cannot be decompressed: ${message}.`, {
      cause: error,
    });
  return asSealiftError(error, "ArtifactError");
}
