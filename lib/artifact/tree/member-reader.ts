import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { publishError, type SealiftError } from "../../contract/errors.ts";
import { quoted } from "./safe-path.ts";
import { type SourceMember, stampOf } from "./source-tree.ts";

/** Reads a listed file and makes sure, at the start and at the end, that it is the one that was listed. */
export class MemberReader implements Disposable {
  readonly #descriptor: number;
  readonly #member: SourceMember;
  #read = 0;

  /** @throws PublishError `source_changed` */
  constructor(root: string, member: SourceMember) {
    this.#member = member;
    this.#descriptor = openSync(join(root, member.path), constants.O_RDONLY | constants.O_NOFOLLOW);
    this.#check();
  }

  /** Fills a buffer with the bytes that follow. @returns how many; 0 at the end */
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
    if (stampOf(fstatSync(this.#descriptor, { bigint: true })) === this.#member.stamp) return;
    throw sourceChanged(this.#member.path);
  }

  [Symbol.dispose](): void {
    closeSync(this.#descriptor);
  }
}

/** The error for a file that is not what it was when the tree was listed. */
export const sourceChanged = (path: string): SealiftError =>
  publishError("source_changed", `${quoted(path)} changed while it was being packed.`, {
    hint: "Publish from a tree that nothing else writes to.",
  });
