import { createHash } from "node:crypto";

const SLASH = 0x2f;
const NEWLINE = 0x0a;
/** Bytes of lines that are hashed at once. */
const BATCH_BYTES = 64 * 1024;
/** Bytes that a unit of a string takes as UTF-8, at most. */
const BYTES_PER_UNIT = 3;

/**
 * Orders paths by their components compared by code point: `a/b` comes before `a-b/c`
 * (docs/contract/project-artifact.md).
 */
export function comparePaths(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    let x = a.charCodeAt(i);
    let y = b.charCodeAt(i);
    if (x === y) continue;
    // A component that ends here comes before one that goes on.
    if (x === SLASH) return -1;
    if (y === SLASH) return 1;
    // UTF-16 order differs beyond the basic plane: surrogates stand for code points above every other unit, so they are
    // lifted over U+E000..U+FFFF.
    if (x >= 0xd800) x = x >= 0xe000 ? x - 0x800 : x + 0x2000;
    if (y >= 0xd800) y = y >= 0xe000 ? y - 0x800 : y + 0x2000;
    return x - y;
  }
  return a.length - b.length;
}

/**
 * Hashes lines of paths and digests in canonical order, with a newline between them
 * (docs/contract/project-artifact.md#tree-digest).
 */
export class LineDigest {
  readonly #hash = createHash("sha256");
  /** A call of the hash costs more than a line: it gets many at once. A string would keep each line in memory. */
  #lines = Buffer.allocUnsafeSlow(2 * BATCH_BYTES);
  #used = 0;

  /**
   * @param path POSIX path relative to the root
   * @param sha256 lower-case hex of the file's bytes
   */
  add(path: string, sha256: string): void {
    const line = `${path}:${sha256}\n`;
    const bytes = this.#used + line.length * BYTES_PER_UNIT;
    if (bytes > this.#lines.length) this.#lines = Buffer.concat([this.#lines.subarray(0, this.#used)], bytes);
    this.#used += this.#lines.write(line, this.#used);
    if (this.#used < BATCH_BYTES) return;
    this.#hash.update(this.#lines.subarray(0, this.#used - 1));
    // The newline of the last line is hashed with the line behind it.
    this.#lines[0] = NEWLINE;
    this.#used = 1;
  }

  /** @returns lower-case hex */
  end(): string {
    return this.#hash.update(this.#lines.subarray(0, Math.max(0, this.#used - 1))).digest("hex");
  }
}
