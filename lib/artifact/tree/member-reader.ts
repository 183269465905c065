import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { publishError, type SealiftError } from "../../contract/errors.ts";
import { isUnchanged, type SourceMember } from "./member-list.ts";
import { quoted } from "./safe-path.ts";

const openMember = (root: string, { path }: SourceMember): number =>
  openSync(`${root}/${path}`, constants.O_RDONLY | constants.O_NOFOLLOW);

/**
 * Reads a listed file of `member.size` bytes into a buffer, and checks afterwards that it is the one that was listed:
 * four system calls, for trees of many small files.
 *
 * @throws PublishError `source_changed`
 */
export function readMember(root: string, member: SourceMember, buffer: Buffer, offset: number): void {
  const { path, size, stamp } = member;
  const descriptor = openMember(root, member);
  try {
    for (let done = 0; done < size;) {
      const bytes = readSync(descriptor, buffer, offset + done, size - done, null);
      if (bytes === 0) throw sourceChanged(path);
      done += bytes;
    }
    if (!isUnchanged(fstatSync(descriptor), stamp)) throw sourceChanged(path);
  } finally {
    closeSync(descriptor);
  }
}

/** Reads a listed file, and checks at the start and the end that it is the one that was listed. */
export class MemberReader implements Disposable {
  readonly #descriptor: number;
  readonly #member: SourceMember;
  #read = 0;

  /** Opens a listed file. @throws PublishError `source_changed` */
  constructor(root: string, member: SourceMember) {
    this.#member = member;
    this.#descriptor = openMember(root, member);
    this.#check();
  }

  /** Fills a buffer with the next bytes. @returns how many; 0 at the end */
  read(buffer: Buffer): number {
    const bytes = buffer.length === 0 ? 0 : readSync(this.#descriptor, buffer);
    this.#read += bytes;
    return bytes;
  }

  /** Ends the reading. @throws PublishError `source_changed` */
  finish(): void {
    if (this.#read !== this.#member.size) throw sourceChanged(this.#member.path);
    this.#check();
  }

  #check(): void {
    if (!isUnchanged(fstatSync(this.#descriptor), this.#member.stamp)) throw sourceChanged(this.#member.path);
  }

  [Symbol.dispose](): void {
    closeSync(this.#descriptor);
  }
}

/** Returns the error for a file that has changed since the tree was listed. */
export const sourceChanged = (path: string): SealiftError =>
  publishError("source_changed", `${quoted(path)} changed while it was being packed.`, {
    hint: "Publish from a tree that nothing else writes to.",
  });
