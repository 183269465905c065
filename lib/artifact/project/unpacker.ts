import type { Worker } from "node:worker_threads";
import { constants, createZstdDecompress, type ZstdDecompress } from "node:zlib";
import { artifactError, asSealiftError, SealiftError } from "../../contract/errors.ts";
import { freeBuffer } from "../../support/buffer-pacing.ts";
import { startThread } from "../../support/thread.ts";
import type { CopyList } from "../delta/file-copier.ts";
import { type Limits, RATIO_FREE_BYTES } from "../limits.ts";
import { errorOf, type PlainError } from "../plain-error.ts";
import type { FileColumns } from "../tree/file-columns.ts";
import { FileTable } from "../tree/file-table.ts";
import { exceeded } from "../tree/safe-path.ts";
import type { TreeListing } from "../tree/tree-listing.ts";
import { newRing, type Ring, RingWriter } from "./ring.ts";
import type { WorkerData } from "./unpack-worker.ts";
import { FrameWalker, MAX_WINDOW_LOG } from "./zstd-frame.ts";

/** Messages between the opening thread and `unpack-worker.ts`, once the archive has ended. */
export type ToWorker =
  | { type: "tree"; except: string; folders: string[] }
  | { type: "copy"; files: Omit<CopyList, "add"> }
  | { type: "write"; path: string; executable: boolean; ring: Ring };

interface FromTree extends TreeDigests {
  type: "tree";
  files: { columns: FileColumns; length: number };
  emptyFolders: string[];
}

export type FromWorker =
  | { type: "unpacked"; entries: number; files: number; bytes: number }
  | FromTree
  | { type: "done"; error: PlainError }
  | { type: "done"; error: null; times: Float64Array | null }
  | { type: "failed"; error: PlainError };

/** Bytes that the decoder is given, and gives, at once: each time costs a round trip to the thread pool. */
const BATCH_BYTES = 512 * 1024;

/** Digests of an unpacked tree: of all of it but its manifest, and of each embedded folder (null: no file in it). */
export interface TreeDigests {
  content: string;
  folders: Record<string, string | null>;
}

export interface Unpacked {
  entries: number;
  files: number;
  /** Of all files. */
  bytes: number;
}

/**
 * Plaintext (one zstd frame holding a tar) in, files in the staging folder out. The frame is decompressed by Node's
 * thread pool; a worker thread gets what comes out through a ring of shared memory, reads the tar in it and writes the
 * files.
 *
 * It never fails while bytes arrive: after an error it swallows the rest, so that the caller still finds out whether
 * the bytes were authentic. {@link result} then throws what went wrong first.
 */
export class Unpacker implements AsyncDisposable {
  readonly #limits: Limits;
  readonly #onUnpacked: ((bytes: number) => void) | undefined;
  readonly #worker: Worker;
  readonly #ring: RingWriter;
  readonly #progress: BigInt64Array;
  readonly #decoder: ZstdDecompress;
  readonly #walker = new FrameWalker();
  /** The batch that is gathered; the other one is with the decoder. */
  #batch = Buffer.allocUnsafeSlow(BATCH_BYTES);
  #other = Buffer.allocUnsafeSlow(BATCH_BYTES);
  #batchBytes = 0;
  /** The decoder's taking of the other batch. */
  #taken: Promise<void> = Promise.resolve();
  #take: () => void = () => {};
  /** The end of the decoder's output. */
  readonly #delivered: Promise<void>;
  #compressed = 0;
  #produced = 0;
  /** The fault that the decoder's side found: bytes behind it were not given to the worker. */
  #failure: SealiftError | undefined;
  #workerFailure: SealiftError | undefined;
  #outcome: Unpacked | undefined;
  readonly #ended = Promise.withResolvers<void>();
  /** Answers that are awaited, in the order of the questions. */
  readonly #asked: PromiseWithResolvers<FromWorker>[] = [];

  /**
   * @param folder an empty folder of mode 0700
   * @param onUnpacked called now and then with the bytes of files written so far
   */
  constructor(folder: string, limits: Limits, onUnpacked?: (bytes: number) => void) {
    this.#limits = limits;
    this.#onUnpacked = onUnpacked;
    const ring = newRing();
    const progress = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);
    this.#ring = new RingWriter(ring);
    this.#progress = new BigInt64Array(progress);
    const data: WorkerData = { folder, limits, ring, progress };
    this.#worker = startThread(import.meta.url, "unpack-worker", data);
    this.#worker.on("message", (message: FromWorker) => this.#receive(message));
    this.#worker.on("error", (error: Error) => this.#end(asSealiftError(error, "ArtifactError")));
    this.#worker.on("exit", () => {
      if (this.#outcome === undefined || this.#asked.length > 0)
        this.#end(artifactError("internal", "The unpacking thread ended early."));
    });
    this.#decoder = createZstdDecompress({
      chunkSize: BATCH_BYTES,
      params: { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG },
    });
    // A decoder that is destroyed calls nobody back.
    this.#decoder.once("close", () => this.#take());
    this.#delivered = this.#deliver();
  }

  #receive(message: FromWorker): void {
    switch (message.type) {
      case "unpacked":
        this.#outcome = { entries: message.entries, files: message.files, bytes: message.bytes };
        this.#end();
        break;
      case "failed":
        this.#end(errorOf(message.error));
        break;
      case "tree":
      case "done":
        this.#asked.shift()?.resolve(message);
    }
  }

  /** The worker reads no more. */
  #end(error?: SealiftError): void {
    this.#workerFailure ??= error;
    if (error !== undefined) for (const { reject } of this.#asked.splice(0)) reject(error);
    this.#ring.abandon();
    if (error !== undefined) this.#decoder.destroy();
    this.#ended.resolve();
  }

  get #failed(): boolean {
    return this.#failure !== undefined || this.#workerFailure !== undefined;
  }

  /** Takes plaintext: the caller may use its memory again at once. Resolves when more can come. */
  async write(chunk: Uint8Array): Promise<void> {
    for (let at = 0; at < chunk.length && !this.#failed;) {
      const piece = chunk.subarray(at, at + BATCH_BYTES - this.#batchBytes);
      this.#batch.set(piece, this.#batchBytes);
      this.#batchBytes += piece.length;
      at += piece.length;
      if (this.#batchBytes === BATCH_BYTES) await this.#decode();
    }
  }

  /** Gives the batch to the decoder, once that has taken the one before. */
  async #decode(): Promise<void> {
    await this.#taken;
    const batch = this.#batch.subarray(0, this.#batchBytes);
    this.#batchBytes = 0;
    [this.#batch, this.#other] = [this.#other, this.#batch];
    if (this.#failed || batch.length === 0) return;
    if (!this.#walked(() => this.#walker.push(batch))) return;
    this.#compressed += batch.length;
    this.#onUnpacked?.(Number(Atomics.load(this.#progress, 0)));
    const taken = Promise.withResolvers<void>();
    this.#take = taken.resolve;
    this.#taken = taken.promise;
    this.#decoder.write(batch, () => taken.resolve());
  }

  /** Walks over compressed bytes. When they are wrong, the decoder ends: what came before them still counts. */
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

  /** Carries the decoder's output to the ring. Never rejects. */
  async #deliver(): Promise<void> {
    try {
      for await (const chunk of this.#decoder as AsyncIterable<Buffer>) {
        this.#count(chunk.length);
        for (let rest = chunk; ;) {
          rest = rest.subarray(this.#ring.write(rest));
          if (rest.length === 0) break;
          await this.#ring.room();
        }
        // The decoder begins a new buffer when one is full.
        if (chunk.byteOffset + chunk.length === BATCH_BYTES) freeBuffer(chunk);
      }
      if (this.#produced !== this.#walker.header?.contentSize)
        throw artifactError("zstd_invalid", "The artifact's content is shorter than its frame says.");
    } catch (error) {
      this.#failure ??= explain(error);
    }
  }

  /** @throws ArtifactError `limit_exceeded`, `zstd_invalid` */
  #count(bytes: number): void {
    this.#produced += bytes;
    const { maxRatio } = this.#limits;
    if (this.#produced > RATIO_FREE_BYTES && this.#produced > this.#compressed * maxRatio)
      throw exceeded(`The archive unpacks to more than ${maxRatio} times its size.`, "--max-ratio");
    if (this.#produced > this.#walker.header!.contentSize)
      throw artifactError("zstd_invalid", "The artifact's content is longer than its frame says.");
  }

  /** Ends the plaintext. Resolves when every file is written, or when something was wrong. */
  async end(): Promise<void> {
    await this.#decode();
    await this.#taken;
    if (!this.#failed && this.#walked(() => this.#walker.end())) this.#decoder.end();
    await this.#delivered;
    this.#ring.end(this.#failure === undefined);
    await this.#ended.promise;
    this.#onUnpacked?.(this.#outcome?.bytes ?? 0);
  }

  /** Returns the unpacked tree, once {@link end} has resolved. @throws ArtifactError what stopped the unpacking */
  result(): Unpacked {
    // The worker stands further back in the bytes than the decoder: its error is the earlier one.
    const failure = this.#workerFailure ?? this.#failure;
    if (failure !== undefined) throw failure;
    return this.#outcome!;
  }

  /** The files and digests of the unpacked tree: of all of it `except` one path, and of each of `folders`. */
  async tree(except: string, folders: string[]): Promise<TreeListing & { digests: TreeDigests }> {
    const { files, emptyFolders, ...digests } = (await this.#ask({ type: "tree", except, folders })) as FromTree;
    return { digests, files: new FileTable(files.columns, files.length), emptyFolders };
  }

  /**
   * Has the second thread copy files of a base.
   *
   * @returns the time of modification of each new file, in milliseconds
   * @throws ArtifactError `delta_base_changed`
   */
  async copy(files: CopyList): Promise<Float64Array> {
    return (await this.#let({ type: "copy", files }))!;
  }

  /** Has the second thread write what goes into a ring to a new file. The ring is abandoned when that fails. */
  writeFile(path: string, executable: boolean): { ring: RingWriter; written: Promise<void> } {
    const ring = newRing();
    const writer = new RingWriter(ring);
    const written = this.#let({ type: "write", path, executable, ring }).then(() => {});
    written.catch(() => writer.abandon());
    return { ring: writer, written };
  }

  /** @throws ArtifactError of the second thread */
  async #let(message: ToWorker): Promise<Float64Array | null> {
    const done = (await this.#ask(message)) as FromWorker & { type: "done" };
    if (done.error !== null) throw errorOf(done.error);
    return done.times;
  }

  #ask(message: ToWorker): Promise<FromWorker> {
    const answer = Promise.withResolvers<FromWorker>();
    this.#asked.push(answer);
    this.#worker.postMessage(message);
    return answer.promise;
  }

  /** Ends the thread; safe at any time. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#outcome ??= { entries: 0, files: 0, bytes: 0 };
    this.#ring.abandon();
    this.#decoder.destroy();
    await this.#worker.terminate();
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
