import { closeSync, constants, fstatSync, openSync, writeSync } from "node:fs";

/** Open flags that fail on any existing file, links included: nothing in a staging folder is ever written twice. */
const EXCLUSIVE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

const open = (path: string, executable: boolean): number => openSync(path, EXCLUSIVE, executable ? 0o755 : 0o644);

function writeAll(descriptor: number, chunk: Uint8Array): void {
  for (let offset = 0; offset < chunk.length;) offset += writeSync(descriptor, chunk, offset);
}

/**
 * Writes a new file with one call. Synchronous: for many small files a promise each costs more than the file.
 *
 * @param path below a private staging folder, of components that `safe-path.ts` has accepted
 * @returns its modification time, in milliseconds
 */
export function writeNewFile(path: string, content: Uint8Array, executable: boolean): number {
  const descriptor = open(path, executable);
  try {
    writeAll(descriptor, content);
    return fstatSync(descriptor).mtimeMs;
  } finally {
    closeSync(descriptor);
  }
}

/** New file that is written piece by piece. Always dispose of it. */
export class NewFile implements Disposable {
  readonly #descriptor: number;

  /** @param path as for {@link writeNewFile} */
  constructor(path: string, executable: boolean) {
    this.#descriptor = open(path, executable);
  }

  write(chunk: Uint8Array): void {
    writeAll(this.#descriptor, chunk);
  }

  [Symbol.dispose](): void {
    closeSync(this.#descriptor);
  }
}
