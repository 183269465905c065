import { comparePaths } from "./tree-digest.ts";
import type { FileEntry, TreeEntry } from "./tree-index.ts";

/** Files that are found by their paths. */
export interface FileList extends Iterable<FileEntry> {
  /** Fastest when files are looked for in canonical order. */
  find(path: string): FileEntry | undefined;
}

/** The files of a tree that was unpacked, and its folders that hold nothing. */
export interface TreeListing {
  files: FileList;
  emptyFolders: readonly string[];
}

/**
 * Lists the entries of a tree that this thread has made. Those of another thread come as a `FileTable`.
 *
 * @param entries in canonical order
 */
export function listingOf(entries: readonly TreeEntry[]): TreeListing {
  return { files: new SortedFiles(entries.filter((entry) => entry.type === "file")), emptyFolders: emptyIn(entries) };
}

/** Returns the paths of the folders among some entries. */
export const emptyIn = (entries: readonly TreeEntry[]): string[] =>
  entries.flatMap((entry) => (entry.type === "folder" ? [entry.path] : []));

class SortedFiles implements FileList {
  readonly #files: readonly FileEntry[];
  /** The place behind the file that was found last. */
  #next = 0;

  constructor(files: readonly FileEntry[]) {
    this.#files = files;
  }

  find(path: string): FileEntry | undefined {
    const place = this.#files[this.#next]?.path === path ? this.#next : placeOf(this.#files, path);
    const file = this.#files[place];
    if (file?.path !== path) return undefined;
    this.#next = place + 1;
    return file;
  }

  [Symbol.iterator](): Iterator<FileEntry> {
    return this.#files[Symbol.iterator]();
  }
}

/** Finds the place that a path has among entries in canonical order, or would have. */
export function placeOf(entries: readonly TreeEntry[], path: string): number {
  let from = 0;
  let to = entries.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (comparePaths(entries[middle]!.path, path) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}
