import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";
import type { SealiftError } from "../../contract/errors.ts";

/** Regular file of a known size, opened without following links. */
export class RegularFile implements Disposable {
  readonly #descriptor: number;
  readonly #wrong: () => SealiftError;
  /** Modification time when it was opened, in milliseconds. */
  readonly mtimeMs: number;

  /** @param wrong makes the error for a file that is missing, of another kind or of another size */
  constructor(path: string, size: number, wrong: () => SealiftError) {
    this.#wrong = wrong;
    try {
      this.#descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EMFILE" || code === "ENFILE") throw error;
      throw wrong();
    }
    const stats = this.stats();
    this.mtimeMs = stats.mtimeMs;
    if (stats.isFile() && stats.size === size) return;
    closeSync(this.#descriptor);
    throw wrong();
  }

  /** Returns the current stats of the open file. */
  stats(): Stats {
    return fstatSync(this.#descriptor);
  }

  /** Reads bytes that must be there. @returns how many: at least one */
  read(into: Uint8Array, offset: number): number {
    const bytes = readSync(this.#descriptor, into, 0, into.length, offset);
    if (bytes === 0) throw this.#wrong();
    return bytes;
  }

  /** Yields the bytes of a range, in blocks that share one buffer. */
  *range(offset: number, length: number, buffer: Buffer): Generator<Buffer> {
    for (let done = 0; done < length;) {
      const bytes = this.read(buffer.subarray(0, length - done), offset + done);
      yield buffer.subarray(0, bytes);
      done += bytes;
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#descriptor);
  }
}
