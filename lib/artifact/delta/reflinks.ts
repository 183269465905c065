import { chmodSync, closeSync, constants, copyFileSync, ftruncateSync, openSync, writeSync } from "node:fs";

/** Copies of files that share blocks with the original, on file systems that support them. */
export class Reflinks {
  /** Whether this file system has them; undefined until it was tried. */
  #work: boolean | undefined;

  /** False once this file system is known not to support them. */
  get mayWork(): boolean {
    return this.#work !== false;
  }

  /**
   * Makes a copy that shares all blocks.
   *
   * @param target an unused path in a private folder
   * @returns false, with nothing made, where the file system cannot
   */
  clone(from: string, target: string, executable: boolean): boolean {
    if (this.#work === false) return false;
    try {
      copyFileSync(from, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE);
    } catch (error) {
      if (this.#work === true) throw error;
      this.#work = false;
      return false;
    }
    this.#work = true;
    chmodSync(target, executable ? 0o755 : 0o644);
    return true;
  }
}

/** Bytes with their offset in a file; patches may share one buffer. */
export interface Patch {
  at: number;
  blocks: Iterable<Buffer>;
}

/** Overwrites the parts of a clone that differ from its original: the rest continues to share blocks. */
export function patchClone(clone: string, size: number, patches: Iterable<Patch>): void {
  const descriptor = openSync(clone, constants.O_WRONLY | constants.O_NOFOLLOW);
  try {
    ftruncateSync(descriptor, size);
    for (const { at, blocks } of patches) {
      let position = at;
      for (const block of blocks)
        for (let done = 0; done < block.length;) {
          const written = writeSync(descriptor, block, done, block.length - done, position);
          done += written;
          position += written;
        }
    }
  } finally {
    closeSync(descriptor);
  }
}
