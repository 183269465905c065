import type { Worker } from "node:worker_threads";
import { artifactError, asSealiftError, type SealiftError } from "../../contract/errors.ts";
import { startThread } from "../../support/thread.ts";
import { errorOf, type PlainError } from "../plain-error.ts";
import type { ScanOptions, ZipIndex } from "./directory.ts";
import { type MemberColumns, MemberTable } from "./member-table.ts";
import type { Batch, BatchQueue, UnzipJob } from "./unzip-batches.ts";

/** Messages to `unzip-worker.ts`: one of each at most, in this order. */
export type ToUnzipWorker =
  | { type: "scan"; path: string; options: ScanOptions }
  | { type: "unpack"; path: string; folder: string; batches: readonly Batch[]; shared: BatchQueue["shared"] };

export type FromUnzipWorker =
  | { type: "scanned"; index: Omit<ZipIndex, "files"> & { files: { columns: MemberColumns; length: number } } }
  | { type: "done" }
  | { type: "failed"; error: PlainError };

/** Bytes of an archive from which a second thread is worth its start. */
const THREAD_FROM_BYTES = 2 * 1024 * 1024;

/**
 * A second thread, which checks the directory of an archive and then unpacks a part of its files. The names of many
 * entries are garbage of that thread, whose heap is small and gone when it ends.
 */
export class UnzipThread implements AsyncDisposable {
  readonly #worker: Worker;
  readonly #exit: Promise<unknown>;
  readonly #scanned = Promise.withResolvers<ZipIndex>();
  #queue: BatchQueue | undefined;
  #done = false;
  #failure: SealiftError | undefined;

  /**
   * Starts the thread, which takes a moment: best while the archive still comes.
   *
   * @param bytes of the archive; undefined where nobody has said it
   * @returns undefined for an archive that is unpacked sooner without
   */
  static for(bytes: number | undefined): UnzipThread | undefined {
    return bytes !== undefined && bytes >= THREAD_FROM_BYTES ? new UnzipThread() : undefined;
  }

  constructor() {
    this.#scanned.promise.catch(() => {});
    this.#worker = startThread(import.meta.url, "unzip-worker", undefined, { maxYoungGenerationSizeMb: 2 });
    this.#worker.on("message", (message: FromUnzipWorker) => this.#receive(message));
    this.#worker.on("error", (error: Error) => this.#fail(asSealiftError(error, "ArtifactError")));
    this.#exit = new Promise((resolve) => this.#worker.once("exit", resolve)).then(() => {
      if (!this.#done) this.#fail(artifactError("internal", "The unpacking thread ended early."));
    });
  }

  #receive(message: FromUnzipWorker): void {
    if (message.type === "scanned") {
      const { files, ...index } = message.index;
      this.#scanned.resolve({ ...index, files: new MemberTable(files.columns, files.length) });
    } else if (message.type === "done") this.#done = true;
    else this.#fail(errorOf(message.error));
  }

  #fail(error: SealiftError): void {
    this.#failure ??= error;
    this.#scanned.reject(this.#failure);
  }

  /**
   * Checks the archive as a whole, as `scanZip` does.
   *
   * @throws what `scanZip` throws, and the reason of an abort
   */
  async scan(path: string, { limits, symlinks }: ScanOptions, signal?: AbortSignal): Promise<ZipIndex> {
    const stop = (): void => this.#scanned.reject(signal!.reason);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      this.#worker.postMessage({ type: "scan", path, options: { limits, symlinks } } satisfies ToUnzipWorker);
      return await this.#scanned.promise;
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  /** Begins to unpack batches of the archive that was scanned, until the queue has no more. */
  help({ path, folder, batches }: UnzipJob, queue: BatchQueue): void {
    this.#queue = queue;
    const { shared } = queue;
    this.#worker.postMessage({ type: "unpack", path, folder, batches, shared } satisfies ToUnzipWorker);
  }

  /** @throws ArtifactError when the thread has failed already */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Resolves when the thread has unpacked all that it took, and no batch is left. @throws ArtifactError */
  async end(): Promise<void> {
    await this.#exit;
    this.check();
  }

  /** Resolves when the thread writes nothing any more, so that its folder may be removed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#queue?.close();
    // One that unpacks ends by itself, with its file closed.
    if (this.#queue === undefined) await this.#worker.terminate();
    await this.#exit;
  }
}
