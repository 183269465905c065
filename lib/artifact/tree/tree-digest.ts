import { createHash } from "node:crypto";
import type { TreeEntry } from "./tree-index.ts";

const SLASH = 0x2f;
const BATCH_CHARACTERS = 64 * 1024;

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
 * The digest of a tree from its files' digests (docs/contract/project-artifact.md#tree-digest). Memory grows with the
 * number of files only.
 */
export class TreeDigest {
  readonly #paths: string[] = [];
  readonly #digests: string[] = [];
  /** Whether they were added in canonical order, as nearly always: then nothing is sorted. */
  #inOrder = true;

  /** Of the files among some entries. */
  static of(entries: Iterable<TreeEntry>): TreeDigest {
    const digest = new TreeDigest();
    for (const entry of entries) if (entry.type === "file") digest.add(entry.path, entry.sha256);
    return digest;
  }

  /**
   * @param path POSIX path relative to the root
   * @param sha256 lower-case hex of the file's bytes
   */
  add(path: string, sha256: string): void {
    const last = this.#paths.at(-1);
    if (last !== undefined && comparePaths(last, path) > 0) this.#inOrder = false;
    this.#paths.push(path);
    this.#digests.push(sha256);
  }

  get size(): number {
    return this.#paths.length;
  }

  /** The digest of the files for which `keep` answers true, in lower-case hex. */
  digest(keep?: (path: string) => boolean): string {
    const digest = new LineDigest();
    for (const at of this.#order()) {
      const path = this.#paths[at]!;
      if (keep === undefined || keep(path)) digest.add(path, this.#digests[at]!);
    }
    return digest.end();
  }

  /** The digest of one folder, with paths relative to it; `undefined` when it holds no file. */
  digestOfFolder(folder: string): string | undefined {
    const prefix = `${folder}/`;
    const digest = new LineDigest();
    let found = false;
    for (const at of this.#order()) {
      const path = this.#paths[at]!;
      if (!path.startsWith(prefix)) continue;
      found = true;
      digest.add(path.slice(prefix.length), this.#digests[at]!);
    }
    return found ? digest.end() : undefined;
  }

  /** The numbers of the files in canonical order of their paths. */
  #order(): Iterable<number> {
    const numbers = this.#paths.keys();
    if (this.#inOrder) return numbers;
    return [...numbers].toSorted((a, b) => comparePaths(this.#paths[a]!, this.#paths[b]!));
  }
}

/** Hashes lines of paths and digests, with a newline between them. */
class LineDigest {
  readonly #hash = createHash("sha256");
  #lines = "";

  add(path: string, sha256: string): void {
    this.#lines += `${path}:${sha256}\n`;
    // A call of the hash costs more than a line: it gets many at once.
    if (this.#lines.length < BATCH_CHARACTERS) return;
    this.#hash.update(this.#lines.slice(0, -1));
    this.#lines = "\n";
  }

  end(): string {
    return this.#hash.update(this.#lines.slice(0, -1)).digest("hex");
  }
}
