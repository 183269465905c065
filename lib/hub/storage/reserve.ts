import { type FileHandle, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { StorageError, storageError, storageTrouble } from "../base/storage-error.ts";

/** Bytes kept: the shared memory and the log that SQLite needs to open its file, and what a start writes. */
const RESERVE_BYTES = 1024 * 1024;
const PIECE = Buffer.alloc(64 * 1024);
/** Interval at which a reserve that is not whole is filled up, in milliseconds. */
const FILL_MS = 30_000;

/** Primary result code of SQLite for a failed read or write, which a full disk is, too, while a file is opened. */
const SQLITE_IOERR = 10;

const isFull = (error: unknown): boolean => {
  const { code, errcode = 0 } = error as { code?: unknown; errcode?: number };
  return storageTrouble(error) === "full" || (code === "ERR_SQLITE_ERROR" && (errcode & 0xff) === SQLITE_IOERR);
};

/** Returns the error of a start that the reserve did not help. */
const fullDisk = (error: unknown) =>
  storageError("The disk of the hub's database", new StorageError("full", (error as Error).message, error), "");

/**
 * File whose room is given up when a hub starts on a full disk: it then opens its database, serves reads, and answers
 * writes with 507. The reserve takes that room back at once, and again when the hub closes.
 */
export class Reserve implements AsyncDisposable {
  readonly #file: string;
  #timer: NodeJS.Timeout | undefined;
  #filling: Promise<void> = Promise.resolve();

  constructor(dataDir: string) {
    this.#file = join(dataDir, "reserve");
  }

  /**
   * Runs work that opens the storage; without room for it once more, after the reserve was given up.
   *
   * @throws UsageError `disk_full` when that is not enough, as for a migration
   */
  async opened<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!isFull(error)) throw error;
      await rm(this.#file, { force: true });
      return await work().catch((again: unknown) => {
        throw isFull(again) ? fullDisk(again) : again;
      });
    }
  }

  /** Fills the reserve now and from time to time, as far as there is room. Never rejects. */
  begin(): Promise<void> {
    const fill = () => (this.#filling = this.#filling.then(() => this.#fill()));
    this.#timer = setInterval(() => void fill(), FILL_MS).unref();
    return fill();
  }

  /** Fills the reserve with the room that the closed database has left. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#filling;
    await this.#fill();
  }

  /** Best effort: a disk that is full has as much of a reserve as fits. */
  async #fill(): Promise<void> {
    let file: FileHandle | undefined;
    try {
      file = await open(this.#file, "a", 0o600);
      for (let { size } = await file.stat(); size < RESERVE_BYTES; size += PIECE.length) await file.appendFile(PIECE);
    } catch {
      // What fits is kept.
    } finally {
      await file?.close().catch(() => undefined);
    }
  }
}
