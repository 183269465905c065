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
  readonly #files: [path: string, sha256: string][] = [];

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
    this.#files.push([path, sha256]);
  }

  get size(): number {
    return this.#files.length;
  }

  /** The digest of the files for which `keep` answers true, in lower-case hex. */
  digest(keep: (path: string) => boolean = () => true): string {
    return digestOf(this.#files.filter(([path]) => keep(path)));
  }

  /** The digest of one folder, with paths relative to it; `undefined` when it holds no file. */
  digestOfFolder(folder: string): string | undefined {
    const prefix = `${folder}/`;
    const files = this.#files.filter(([path]) => path.startsWith(prefix));
    if (files.length === 0) return undefined;
    return digestOf(files.map(([path, sha256]) => [path.slice(prefix.length), sha256]));
  }
}

function digestOf(files: [string, string][]): string {
  const sorted = files.toSorted(([a], [b]) => comparePaths(a, b));
  const hash = createHash("sha256");
  // A call of the hash costs more than a line: it gets many at once.
  let lines = "";
  for (const [path, sha256] of sorted) {
    lines += `${path}:${sha256}\n`;
    if (lines.length < BATCH_CHARACTERS) continue;
    hash.update(lines.slice(0, -1));
    lines = "\n";
  }
  return hash.update(lines.slice(0, -1)).digest("hex");
}
