import type { ChunkList } from "./chunks.ts";
import type { FileTable } from "./file-table.ts";
import type { TreeEntry } from "./tree-index.ts";
import { listedInOrder, type TreeListing } from "./tree-listing.ts";

/**
 * Files of a tree with their digests and chunks, and its empty folders, in canonical order. An entry is an object only
 * while it is looked at: 100,000 of them would take 30 MB.
 */
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
