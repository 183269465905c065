import { createHash } from "node:crypto";

export const SHA256_BYTES = 32;
const NEWLINE = 0x0a;
const COLON = 0x3a;
const HEX = Buffer.from("0123456789abcdef");
/** Bytes of a line without its path. */
const DIGEST_BYTES = 2 * SHA256_BYTES + 2;
/** Bytes of lines hashed at a time. */
const BATCH_BYTES = 64 * 1024;

/**
 * Hashes lines of paths and digests in canonical order, separated by newlines
 * (docs/contract/project-artifact.md#tree-digest). Takes bytes: building strings of 100,000 paths and digests would
 * take longer than hashing them.
 */
export class LineDigest {
  readonly #hash = createHash("sha256");
  #lines = Buffer.allocUnsafeSlow(2 * BATCH_BYTES);
  #used = 0;

  /**
   * @param names buffer with a path from `start` to `end`, relative to the root
   * @param digests buffer with its SHA-256 at `at`
   */
  add(names: Buffer, [start, end]: readonly [number, number], digests: Uint8Array, at: number): void {
    const bytes = this.#used + end - start + DIGEST_BYTES;
    if (bytes > this.#lines.length) this.#lines = Buffer.concat([this.#lines.subarray(0, this.#used)], bytes);
    const lines = this.#lines;
    let used = this.#used + names.copy(lines, this.#used, start, end);
    lines[used++] = COLON;
    for (let byte = at; byte < at + SHA256_BYTES; byte++) {
      lines[used++] = HEX[digests[byte]! >> 4]!;
      lines[used++] = HEX[digests[byte]! & 15]!;
    }
    lines[used++] = NEWLINE;
    this.#used = used < BATCH_BYTES ? used : this.#update(used);
  }

  /** Hashes all but the newline of the last line, which belongs to the next one. @returns the number of bytes kept */
  #update(used: number): number {
    this.#hash.update(this.#lines.subarray(0, used - 1));
    this.#lines[0] = NEWLINE;
    return 1;
  }

  /** Ends the hash. @returns lower-case hex */
  end(): string {
    return this.#hash.update(this.#lines.subarray(0, Math.max(0, this.#used - 1))).digest("hex");
  }
}
