import { type FileHandle, open, rename } from "node:fs/promises";
import { join } from "node:path";
import { Writable } from "node:stream";
import { KEPT_LOG_FILES, LOG_FILE } from "../releases/applications.ts";
import { makeFolder } from "../support/files.ts";

/** Most bytes of one file of a log. */
const MAX_FILE_BYTES = 8 * 1024 * 1024;
/** Bytes that wait for the disk; a program that writes more has to wait, too. */
const WAITING_BYTES = 256 * 1024;

/** Tells whether a line of a log is about the application, and not its own. */
export const isRemark = (line: string): boolean => /^\d{4}-\d\d-\d\dT[\d:.]+Z sealift: /.test(line);

/**
 * Output of an application, in files of bounded size. A full disk never fails it: bytes that it does not take are
 * lost.
 */
export class LogFile extends Writable {
  readonly #folder: string;
  readonly #maxFileBytes: number;
  #file: FileHandle | undefined;
  #bytes = 0;

  /** @param folder of the log, made if missing, 0700 */
  constructor(folder: string, maxFileBytes = MAX_FILE_BYTES) {
    super({ highWaterMark: WAITING_BYTES });
    this.#folder = folder;
    this.#maxFileBytes = maxFileBytes;
  }

  /** Writes a line about the application, beside its own. */
  remark(text: string): void {
    if (!this.writableEnded) this.write(`${new Date().toISOString()} sealift: ${text}\n`);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#append(chunk).then(done, async () => {
      // The next write opens the file again.
      await this.#close();
      done();
    });
  }

  override _final(done: () => void): void {
    this.#close().then(done, done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#close().then(
      () => done(error),
      () => done(error),
    );
  }

  async #append(chunk: Buffer): Promise<void> {
    if (this.#file !== undefined && this.#bytes + chunk.length > this.#maxFileBytes) await this.#rotate();
    if (this.#file === undefined) {
      await makeFolder(this.#folder, 0o700);
      this.#file = await open(join(this.#folder, LOG_FILE), "a", 0o600);
      this.#bytes = (await this.#file.stat()).size;
    }
    const { bytesWritten } = await this.#file.write(chunk);
    this.#bytes += bytesWritten;
  }

  async #rotate(): Promise<void> {
    await this.#close();
    const at = (number: number) => join(this.#folder, number === 0 ? LOG_FILE : `${LOG_FILE}.${number}`);
    for (let number = KEPT_LOG_FILES - 1; number > 0; number--)
      await rename(at(number - 1), at(number)).catch(() => {});
  }

  async #close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }
}
