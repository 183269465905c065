import { createHash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Chunker, ChunkList, MAX_CHUNK_BYTES } from "./chunks.ts";
import { MemberReader } from "./member-reader.ts";
import type { SourceTree } from "./source-tree.ts";

/** Files larger than this are cut into chunks; smaller ones travel whole when they change. Bytes. */
export const CHUNKED_FROM_BYTES = MAX_CHUNK_BYTES;

/** One regular file of a tree. */
export interface FileEntry {
  type: "file";
  /** POSIX, relative to the tree's root. */
  path: string;
  executable: boolean;
  /** Bytes. */
  size: number;
  /** Lower-case hex of the file's bytes. */
  sha256: string;
  /** Chunks of a file larger than {@link CHUNKED_FROM_BYTES}. */
  chunks?: ChunkList;
}

/** A folder that holds nothing: others follow from the files in them. */
export interface FolderEntry {
  type: "folder";
  path: string;
}

export type TreeEntry = FileEntry | FolderEntry;

const READ_BYTES = 1024 * 1024;
/** Bytes that are read before the event loop has its turn. */
const TURN_BYTES = 8 * 1024 * 1024;

export interface IndexOptions {
  /** Whether large files are cut into chunks, which costs about as much as their digest. Default true. */
  chunks?: boolean;
  signal?: AbortSignal | undefined;
  /** Called with the bytes read so far. */
  onRead?: (bytes: number) => void;
}

/**
 * Reads a source tree once and lists its files with their digests and chunks, and its empty folders, in canonical order.
 *
 * @throws PublishError `source_changed` when a file is not what it was when the tree was listed
 */
export async function indexTree(tree: SourceTree, options: IndexOptions = {}): Promise<TreeEntry[]> {
  const occupied = foldersInUse(tree);
  const entries: TreeEntry[] = [];
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  let read = 0;
  let sinceTurn = 0;
  for (const { path, type, executable, size, stamp } of tree.members) {
    if (type === "folder") {
      if (!occupied.has(path)) entries.push({ type, path });
      continue;
    }
    using reader = new MemberReader(tree.root, { path, type, executable, size, stamp });
    const digest = createHash("sha256");
    const chunks = size > CHUNKED_FROM_BYTES && options.chunks !== false ? new ChunkList() : undefined;
    const chunker = chunks && new Chunker((length, chunkDigest) => chunks.push(length, chunkDigest));
    for (let bytes = reader.read(buffer); bytes > 0; bytes = reader.read(buffer)) {
      const block = buffer.subarray(0, bytes);
      digest.update(block);
      chunker?.update(block);
      read += bytes;
      sinceTurn += bytes;
      if (sinceTurn < TURN_BYTES) continue;
      // Reading is synchronous: let signals and progress through now and then.
      sinceTurn = 0;
      options.onRead?.(read);
      await nextTurn();
      options.signal?.throwIfAborted();
    }
    chunker?.end();
    reader.finish();
    sinceTurn += 4096;
    entries.push({ type, path, executable, size, sha256: digest.digest("hex"), ...(chunks && { chunks }) });
  }
  options.onRead?.(read);
  return entries;
}

function foldersInUse(tree: SourceTree): ReadonlySet<string> {
  const occupied = new Set<string>();
  for (const { path } of tree.members) {
    const slash = path.lastIndexOf("/");
    if (slash > 0) occupied.add(path.slice(0, slash));
  }
  return occupied;
}
