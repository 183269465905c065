import { type FileHandle, open, rename } from "node:fs/promises";
import { join } from "node:path";
import { Writable } from "node:stream";
import { KEPT_LOG_FILES, LOG_FILE } from "../releases/applications.ts";
import { makeFolder } from "../support/files.ts";

/** Most bytes of one file of a log. */
const MAX_FILE_BYTES = 8 * 1024 * 1024;
/** Bytes that wait for the disk; a program that writes more has to wait, too. */
const WAITING_BYTES = 256 * 1024;

/** Beginning of a line about the application: its time, and who says it. */
const REMARK = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z sealift: /;
const REMARK_LENGTH = "0000-00-00T00:00:00.000Z sealift: ".length;

/** Tells whether a line of a log is about the application, and not its own. */
export const isRemark = (line: string): boolean => REMARK.test(line);

/** Written into a line of the application that would read as a remark. */
const NOT_A_REMARK = "\\";

/**
 * Output of an application, in files of bounded size. A full disk never fails it: bytes that it does not take are
 * lost.
 */
export class LogFile extends Writable {
  readonly #folder: string;
  readonly #maxFileBytes: number;
  #file: FileHandle | undefined;
  #bytes = 0;
  /** Beginning of the line that is being written, as far as a remark would reach. */
  #line = "";
  readonly #remarks = new WeakSet<Buffer>();

  /** @param folder of the log, made if missing, 0700 */
  constructor(folder: string, maxFileBytes = MAX_FILE_BYTES) {
    super({ highWaterMark: WAITING_BYTES });
    this.#folder = folder;
    this.#maxFileBytes = maxFileBytes;
  }

  /** Writes a line about the application, beside its own. */
  remark(text: string): void {
    if (this.writableEnded) return;
    const line = Buffer.from(`${new Date().toISOString()} sealift: ${text.replaceAll("\n", " ")}\n`);
    this.#remarks.add(line);
    this.write(line);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#append(chunk).then(done, async () => {
      // The next write opens the file again, and begins a line.
      await this.#close().catch(() => undefined);
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

  /**
   * Returns what is to be written for a chunk: a remark begins a line, and no line of the application reads as one,
   * however its output is cut.
   */
  #told(chunk: Buffer): Buffer {
    if (this.#remarks.has(chunk)) {
      const begun = this.#line !== "";
      this.#line = "";
      return begun ? Buffer.concat([Buffer.from("\n"), chunk]) : chunk;
    }
    const text = this.#line + chunk.toString("latin1");
    const written = this.#line.length;
    this.#line = text.slice(text.lastIndexOf("\n") + 1).slice(0, REMARK_LENGTH);
    // Spares most chunks the search and a copy.
    if (!text.includes(" sealift: ")) return chunk;
    const parts: string[] = [];
    let from = written;
    for (const { index } of text.matchAll(new RegExp(REMARK.source, "gm"))) {
      if (index + REMARK_LENGTH <= written) continue;
      const at = Math.max(index + REMARK_LENGTH - "sealift: ".length, written);
      parts.push(text.slice(from, at), NOT_A_REMARK);
      from = at;
    }
    return Buffer.from(parts.join("") + text.slice(from), "latin1");
  }

  async #append(chunk: Buffer): Promise<void> {
    await this.#open(chunk.length);
    await this.#write(this.#told(chunk));
  }

  /** Opens a file that these bytes fit into. What is written first to it begins a line. */
  async #open(bytes: number): Promise<void> {
    if (this.#file !== undefined && this.#bytes + bytes > this.#maxFileBytes) await this.#rotate();
    if (this.#file !== undefined) return;
    this.#line = "";
    await makeFolder(this.#folder, 0o700);
    this.#file = await open(join(this.#folder, LOG_FILE), "a+", 0o600);
    this.#bytes = (await this.#file.stat()).size;
    // An earlier process, or a full disk, may have cut it off in the middle of a line.
    if (this.#bytes > 0 && (await lastByte(this.#file, this.#bytes)) !== 0x0a) await this.#write(Buffer.from("\n"));
  }

  async #write(chunk: Buffer): Promise<void> {
    const { bytesWritten } = await this.#file!.write(chunk);
    this.#bytes += bytesWritten;
    if (bytesWritten < chunk.length) throw new Error("the disk is full");
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

async function lastByte(file: FileHandle, size: number): Promise<number | undefined> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return bytesRead === 1 ? buffer[0] : undefined;
}
