import { once } from "node:events";
import { Writable } from "node:stream";
import type { Worker } from "node:worker_threads";
import type { Code } from "../../contract/codes.ts";
import { artifactError, type ErrorKind, SealiftError } from "../../contract/errors.ts";
import { startThread } from "../../support/thread.ts";
import type { Limits } from "../limits.ts";

/** Messages between the opening thread and `unpack-worker.ts`. */
export type ToWorker =
  | { type: "chunks"; chunks: Uint8Array<ArrayBuffer>[] }
  | { type: "end" }
  | { type: "digest"; except: string; folders: string[] }
  | { type: "list"; except: string; file: string };

export type FromWorker =
  | { type: "taken"; bytes: number; unpacked: number }
  | { type: "unpacked"; entries: number; files: number; bytes: number }
  | { type: "digest"; content: string; folders: Record<string, string | null> }
  | { type: "listed"; error: string | null }
  | { type: "failed"; error: { kind: ErrorKind; code: Code; message: string; hint?: string } };

/** Chunks go over in batches of this many bytes: a message each would cost more than it carries. */
const BATCH_BYTES = 128 * 1024;
/** Bytes that may be on their way to the worker: together with its own buffers, the memory of an opening artifact. */
const WINDOW_BYTES = 1024 * 1024;

export interface Unpacked {
  entries: number;
  files: number;
  /** Of all files. */
  bytes: number;
}

/**
 * Plaintext (one zstd frame holding a tar) in, files in the staging folder out, on a worker thread.
 *
 * It never fails while bytes arrive: after an error it swallows the rest, so that the stream's end still tells
 * whether the bytes
 * were authentic. {@link result} then throws what went wrong.
 */
export class Unpacker extends Writable {
  readonly #worker: Worker;
  #batch: Uint8Array<ArrayBuffer>[] = [];
  #batchBytes = 0;
  #outstanding = 0;
  #resume: (() => void) | undefined;
  #outcome: Unpacked | undefined;
  #failure: SealiftError | undefined;
  #finished: (() => void) | undefined;
  readonly #onUnpacked: ((bytes: number) => void) | undefined;

  /**
   * @param folder an empty folder of mode 0700
   * @param onUnpacked called now and then with the bytes of files written so far
   */
  constructor(folder: string, limits: Limits, onUnpacked?: (bytes: number) => void) {
    super({ highWaterMark: BATCH_BYTES });
    this.#onUnpacked = onUnpacked;
    this.#worker = startThread(import.meta.url, "unpack-worker", { folder, limits });
    this.#worker.on("message", (message: FromWorker) => this.#receive(message));
    this.#worker.on("error", (error: Error) =>
      this.#fail(artifactError("internal", `Unpacking failed: ${error.message}`, { cause: error })),
    );
    this.#worker.on("exit", () => {
      if (this.#outcome === undefined) this.#fail(artifactError("internal", "The unpacking thread ended early."));
    });
  }

  #receive(message: FromWorker): void {
    switch (message.type) {
      case "taken":
        this.#outstanding -= message.bytes;
        this.#onUnpacked?.(message.unpacked);
        if (this.#outstanding < WINDOW_BYTES) this.#wake();
        break;
      case "unpacked":
        this.#outcome = { entries: message.entries, files: message.files, bytes: message.bytes };
        this.#onUnpacked?.(message.bytes);
        this.#finished?.();
        break;
      case "failed": {
        const { kind, code, message: text, hint } = message.error;
        this.#fail(new SealiftError(kind, code, text, hint === undefined ? {} : { hint }));
        break;
      }
      case "digest":
      case "listed":
        break;
    }
  }

  #fail(error: SealiftError): void {
    this.#failure ??= error;
    this.#wake();
    this.#finished?.();
  }

  #wake(): void {
    const resume = this.#resume;
    this.#resume = undefined;
    resume?.();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    if (this.#failure !== undefined) {
      callback();
      return;
    }
    // A view of a pooled buffer cannot be transferred: its neighbours would go with it.
    const owned = chunk.byteLength === chunk.buffer.byteLength ? chunk : Uint8Array.from(chunk);
    this.#batch.push(owned as Uint8Array<ArrayBuffer>);
    this.#batchBytes += owned.byteLength;
    if (this.#batchBytes >= BATCH_BYTES) this.#send();
    if (this.#outstanding < WINDOW_BYTES) callback();
    else this.#resume = callback;
  }

  override _final(callback: (error?: Error | null) => void): void {
    if (this.#failure !== undefined) {
      callback();
      return;
    }
    this.#send();
    this.#post({ type: "end" });
    this.#finished = callback;
    if (this.#outcome !== undefined) callback();
  }

  #send(): void {
    if (this.#batchBytes === 0) return;
    this.#outstanding += this.#batchBytes;
    this.#post(
      { type: "chunks", chunks: this.#batch },
      this.#batch.map(({ buffer }) => buffer),
    );
    this.#batch = [];
    this.#batchBytes = 0;
  }

  #post(message: ToWorker, transfer: ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfer);
  }

  /** Returns the unpacked tree, once the stream has ended. @throws ArtifactError what stopped the unpacking */
  result(): Unpacked {
    if (this.#failure !== undefined) throw this.#failure;
    return this.#outcome!;
  }

  /** Digests of the unpacked tree: of all of it `except` one path, and of each of `folders` (null: no file in it). */
  async digests(
    except: string,
    folders: string[],
  ): Promise<{ content: string; folders: Record<string, string | null> }> {
    const answer = once(this.#worker, "message") as Promise<[FromWorker & { type: "digest" }]>;
    this.#post({ type: "digest", except, folders });
    const [digest] = await answer;
    return digest;
  }

  /** Writes the list of the unpacked tree, of all of it `except` one path, to a new file. */
  async list(except: string, file: string): Promise<void> {
    const answer = once(this.#worker, "message") as Promise<[FromWorker & { type: "listed" }]>;
    this.#post({ type: "list", except, file });
    const [{ error }] = await answer;
    if (error !== null) throw artifactError("internal", `The list of the tree could not be written: ${error}`);
  }

  /** Ends the thread; safe at any time. */
  override async [Symbol.asyncDispose](): Promise<void> {
    this.#outcome ??= { entries: 0, files: 0, bytes: 0 };
    await this.#worker.terminate();
    this.destroy();
  }
}
