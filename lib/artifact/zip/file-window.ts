import { readSync } from "node:fs";

/**
 * Default number of bytes read at a time: a few small entries of an archive, and little more than needed for a large
 * one.
 */
const WINDOW_BYTES = 32 * 1024;

/**
 * Reads small, neighbouring pieces of a file with few system calls. Synchronous: for ten thousand pieces a promise each
 * takes longer than the disk.
 */
export class FileWindow {
  readonly #descriptor: number;
  readonly #windowBytes: number;
  #buffer = Buffer.alloc(0);
  #start = 0;
  #end = 0;

  /** @param descriptor of a file that does not change; the caller closes it */
  constructor(descriptor: number, windowBytes = WINDOW_BYTES) {
    this.#descriptor = descriptor;
    this.#windowBytes = windowBytes;
  }

  /** Returns the bytes from `position` on, valid until the next call: fewer than `length` at the file's end. */
  read(position: number, length: number): Buffer {
    if (position < this.#start || position + length > this.#end) this.#fill(position, length);
    const offset = position - this.#start;
    return this.#buffer.subarray(offset, Math.min(offset + length, this.#end - this.#start));
  }

  #fill(position: number, length: number): void {
    const wanted = Math.max(this.#windowBytes, length);
    if (this.#buffer.length < wanted) this.#buffer = Buffer.allocUnsafeSlow(wanted);
    let filled = 0;
    for (let read = 1; read > 0 && filled < this.#buffer.length; filled += read)
      read = readSync(this.#descriptor, this.#buffer, filled, this.#buffer.length - filled, position + filled);
    this.#start = position;
    this.#end = position + filled;
  }
}
