import { comparePaths } from "./compare-paths.ts";
import type { FileTable } from "./file-table.ts";

/** The files of a tree, and its folders that hold nothing. */
export interface TreeListing {
  files: FileTable;
  /** In canonical order. */
  emptyFolders: readonly string[];
}

/** A file, by its index in the table, or the path of an empty folder. */
export type Listed = { file: number; path: string } | { file: undefined; path: string };

/** Files and empty folders in canonical order of their paths. */
export function* listedInOrder({ files, emptyFolders }: TreeListing): Generator<Listed> {
  let next = 0;
  for (const file of files.inOrder()) {
    const path = files.pathAt(file);
    while (next < emptyFolders.length && comparePaths(emptyFolders[next]!, path) < 0)
      yield { file: undefined, path: emptyFolders[next++]! };
    yield { file, path };
  }
  while (next < emptyFolders.length) yield { file: undefined, path: emptyFolders[next++]! };
}
