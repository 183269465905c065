import { constants } from "node:fs";
import { copyFile, type FileHandle, open, rename, rm } from "node:fs/promises";
import { readChunks } from "../../support/read-chunks.ts";
import type { IncomingBlob } from "./port.ts";

/** Bytes gathered before a write, for fewer and larger writes. */
const WRITE_BATCH_BYTES = 1024 * 1024;
/** Bytes gathered over all files, beyond which even small batches are written. */
const MAX_GATHERED_BYTES = 16 * 1024 * 1024;
const LEAST_BATCH_BYTES = 64 * 1024;

/** Codes of a disk, or a quota, without room. */
const FULL: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT"]);
const { O_APPEND, O_RDWR } = constants;

/** Ways of a file that arrives. */
interface IncomingWays {
  /** Moves the flushed file durably under its id: then nothing is left at its path. */
  adopt: (path: string, id: string) => Promise<void>;
  /** Path for what is kept of a cut upload. */
  kept: string;
  /** Called when the file was stored, kept or discarded. */
  onGone: () => void;
  /** Called when the disk is full. @returns whether there is more room now */
  makeRoom: () => Promise<boolean>;
}

/** Bytes that the files of this process have gathered and not begun to write. */
let gatheredByAll = 0;

/** Blob that arrives in a local file, wherever it is stored afterwards. */
export class IncomingFile implements IncomingBlob {
  readonly path: string;
  readonly #ways: IncomingWays;
  readonly #handle: FileHandle;
  #size: number;
  #gathered: Uint8Array[] = [];
  #gatheredBytes = 0;
  #writing: Promise<void> = Promise.resolve();
  #open = true;
  /** Whether the file is somebody else's now: stored, or kept. */
  #isHandedOver = false;

  private constructor(path: string, handle: FileHandle, size: number, ways: IncomingWays) {
    this.path = path;
    this.#handle = handle;
    this.#size = size;
    this.#ways = ways;
  }

  /** @param flags `wx+` for a new file, `r+` to continue one at its end, which must be there */
  static async open(path: string, flags: "wx+" | "r+", ways: IncomingWays): Promise<IncomingFile> {
    const handle = await open(path, flags === "wx+" ? flags : O_RDWR | O_APPEND, 0o600);
    const size = flags === "wx+" ? 0 : (await handle.stat()).size;
    return new IncomingFile(path, handle, size, ways);
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
    let rest = batch;
    for (let hasMadeRoom = false; rest.length > 0;)
      try {
        const { bytesWritten } = await this.#handle.writev(rest);
        const bytes = rest.reduce((sum, chunk) => sum + chunk.length, 0);
        rest = bytesWritten === bytes ? [] : [Buffer.concat(rest).subarray(bytesWritten)];
      } catch (error) {
        const isFull = FULL.has((error as NodeJS.ErrnoException).code);
        if (!isFull || hasMadeRoom || !(await this.#ways.makeRoom())) throw error;
        hasMadeRoom = true;
      }
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
    await this.#ways.adopt(this.path, id);
    this.#isHandedOver = true;
    this.#ways.onGone();
  }

  async keep(): Promise<string> {
    await this.#writing;
    this.#startWrite();
    await this.#writing;
    await this.#close();
    const { kept, onGone } = this.#ways;
    await rename(this.path, kept);
    this.#isHandedOver = true;
    onGone();
    return kept;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isHandedOver) return;
    this.#forgetGathered();
    await this.#writing.catch(() => {});
    await this.#close();
    await rm(this.path, { force: true });
    this.#ways.onGone();
  }

  async #close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    await this.#handle.close();
  }
}
