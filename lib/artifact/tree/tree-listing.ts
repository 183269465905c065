import type { ChunkList } from "./chunks.ts";
import { comparePaths } from "./compare-paths.ts";
import type { FileEntry, FileTable } from "./file-table.ts";

/** Empty folder; all others follow from the files in them. */
export interface FolderEntry {
  type: "folder";
  path: string;
}

export type TreeEntry = FileEntry | FolderEntry;

/** Files of a tree, and its empty folders. */
export interface TreeListing {
  files: FileTable;
  /** Empty folders in canonical order. */
  emptyFolders: readonly string[];
}

/** File, by its index in the table, or the path of an empty folder. */
export type ListedEntry = { file: number; path: string } | { file: undefined; path: string };

/** Yields files and empty folders in canonical order of their paths. */
export function* listedInOrder({ files, emptyFolders }: TreeListing): Generator<ListedEntry> {
  let next = 0;
  for (const file of files.inOrder()) {
    const path = files.pathAt(file);
    while (next < emptyFolders.length && comparePaths(emptyFolders[next]!, path) < 0)
      yield { file: undefined, path: emptyFolders[next++]! };
    yield { file, path };
  }
  while (next < emptyFolders.length) yield { file: undefined, path: emptyFolders[next++]! };
}

/** Files of a tree with their digests and chunks, and its empty folders, in canonical order. */
export class TreeEntries implements Iterable<TreeEntry>, TreeListing {
  readonly files: FileTable;
  readonly emptyFolders: readonly string[];
  readonly #chunks: ReadonlyMap<number, ChunkList>;

  /** @param chunks by the index of their file */
  constructor({ files, emptyFolders }: TreeListing, chunks: ReadonlyMap<number, ChunkList>) {
    this.files = files;
    this.emptyFolders = emptyFolders;
    this.#chunks = chunks;
  }

  *[Symbol.iterator](): Generator<TreeEntry> {
    for (const { file, path } of listedInOrder(this)) {
      if (file === undefined) {
        yield { type: "folder", path };
        continue;
      }
      const entry = this.files.at(file);
      const chunks = this.#chunks.get(file);
      if (chunks !== undefined) entry.chunks = chunks;
      yield entry;
    }
  }
}

const SHA256 = /^[0-9a-f]{64}$/;

/**
 * Converts a line of a list, parsed as JSON, to its entry: a file or an empty folder. Checked by hand, since for tens
 * of thousands of files a schema takes longer than the parser.
 *
 * @returns undefined for a malformed line
 */
export function listedEntry(line: unknown): TreeEntry | undefined {
  if (typeof line !== "object" || line === null) return undefined;
  const { folder, file, executable, size, sha256, mtime_ms: mtimeMs } = line as Record<string, unknown>;
  if (typeof folder === "string" && folder !== "") return { type: "folder", path: folder };
  if (typeof file !== "string" || file === "" || typeof executable !== "boolean") return undefined;
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) return undefined;
  if (typeof sha256 !== "string" || !SHA256.test(sha256)) return undefined;
  const entry: TreeEntry = { type: "file", path: file, executable, size, sha256 };
  if (typeof mtimeMs === "number") entry.mtimeMs = mtimeMs;
  return entry;
}

/** Returns the line of an entry, with its newline, without chunks and times. */
export function lineOf(entry: TreeEntry): string {
  if (entry.type === "folder") return `${JSON.stringify({ folder: entry.path })}\n`;
  const { path, executable, size, sha256 } = entry;
  return `${JSON.stringify({ file: path, executable, size, sha256 })}\n`;
}
