import { copyFile, type FileHandle, open, rm } from "node:fs/promises";
import { readChunks } from "../../support/read-chunks.ts";
import type { IncomingBlob } from "./port.ts";

/** Bytes gathered before a write, for fewer and larger writes. */
const WRITE_BATCH_BYTES = 1024 * 1024;
/** Bytes gathered over all files, beyond which even small batches are written. */
const MAX_GATHERED_BYTES = 16 * 1024 * 1024;
const LEAST_BATCH_BYTES = 64 * 1024;

/** Bytes that the files of this process have gathered and not begun to write. */
let gatheredByAll = 0;

/** Blob that arrives in a local file, wherever it is stored afterwards. */
export class IncomingFile implements IncomingBlob {
  readonly path: string;
  readonly #keep: (path: string, id: string) => Promise<void>;
  readonly #onGone: () => void;
  readonly #handle: FileHandle;
  #size: number;
  #gathered: Uint8Array[] = [];
  #gatheredBytes = 0;
  #writing: Promise<void> = Promise.resolve();
  #open = true;
  /** Whether the file is somebody else's now: stored, or kept. */
  #isHandedOver = false;

  private constructor(
    path: string,
    handle: FileHandle,
    size: number,
    keep: (path: string, id: string) => Promise<void>,
    onGone: () => void,
  ) {
    this.path = path;
    this.#handle = handle;
    this.#size = size;
    this.#keep = keep;
    this.#onGone = onGone;
  }

  /**
   * @param flags `wx+` for a new file, `a+` to continue one
   * @param keep moves the flushed file durably under its id: then nothing is left at its path
   * @param onGone called when the file was stored, kept or discarded
   */
  static async open(
    path: string,
    flags: "wx+" | "a+",
    keep: (path: string, id: string) => Promise<void>,
    onGone: () => void,
  ): Promise<IncomingFile> {
    const handle = await open(path, flags, 0o600);
    const size = flags === "wx+" ? 0 : (await handle.stat()).size;
    return new IncomingFile(path, handle, size, keep, onGone);
  }

  get size(): number {
    return this.#size;
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#size += chunk.length;
    this.#gathered.push(chunk);
    this.#gatheredBytes += chunk.length;
    gatheredByAll += chunk.length;
    const enough = gatheredByAll > MAX_GATHERED_BYTES ? LEAST_BATCH_BYTES : WRITE_BATCH_BYTES;
    if (this.#gatheredBytes < enough) return;
    // While one batch is written, the next is gathered: a slow disk makes the hub hold two at most.
    await this.#writing;
    this.#startWrite();
  }

  async copyFrom(path: string): Promise<void> {
    await copyFile(path, this.path);
    this.#size = (await this.#handle.stat()).size;
  }

  #startWrite(): void {
    const batch = this.#gathered;
    this.#forgetGathered();
    this.#writing = this.#writeAll(batch);
    // The next write throws the error; until then the rejection must not count as unhandled.
    this.#writing.catch(() => {});
  }

  #forgetGathered(): void {
    gatheredByAll -= this.#gatheredBytes;
    this.#gathered = [];
    this.#gatheredBytes = 0;
  }

  async #writeAll(batch: Uint8Array[]): Promise<void> {
    if (batch.length === 0) return;
    const expected = batch.reduce((sum, chunk) => sum + chunk.length, 0);
    const { bytesWritten } = await this.#handle.writev(batch);
    if (bytesWritten === expected) return;
    const rest = Buffer.concat(batch).subarray(bytesWritten);
    await this.#handle.writeFile(rest);
  }

  async flush(): Promise<void> {
    await this.#writing;
    this.#startWrite();
    await this.#writing;
    await this.#handle.sync();
  }

  /** Reads the bytes back. Each chunk is a buffer that the next one overwrites. */
  readBack(): AsyncIterable<Uint8Array> {
    return readChunks(this.#handle);
  }

  async commit(id: string): Promise<void> {
    await this.#close();
    await this.#keep(this.path, id);
    this.#isHandedOver = true;
    this.#onGone();
  }

  async keep(): Promise<void> {
    await this.#writing;
    this.#startWrite();
    await this.#writing;
    await this.#close();
    this.#isHandedOver = true;
    this.#onGone();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isHandedOver) return;
    this.#forgetGathered();
    await this.#writing.catch(() => {});
    await this.#close();
    await rm(this.path, { force: true });
    this.#onGone();
  }

  async #close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    await this.#handle.close();
  }
}
