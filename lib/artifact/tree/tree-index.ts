import { createHash, type Hash, hash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ChunkThread } from "./chunk-thread.ts";
import { Chunker, ChunkList, MAX_CHUNK_BYTES } from "./chunks.ts";
import { MemberReader } from "./member-reader.ts";
import type { SourceMember, SourceTree } from "./source-tree.ts";

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
  /** When the file was written, in milliseconds: of one that was unpacked just now. */
  mtimeMs?: number;
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
 * Reads a source tree once and lists its files with their digests and chunks, and its empty folders, in canonical
 * order.
 *
 * @throws PublishError `source_changed` when a file is not what it was when the tree was listed
 */
export async function indexTree(tree: SourceTree, options: IndexOptions = {}): Promise<TreeEntry[]> {
  const indexer = new TreeIndexer(tree, options.chunks);
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  let read = 0;
  let sinceTurn = 0;
  for (const member of tree.members) {
    if (member.type === "folder") continue;
    using reader = new MemberReader(tree.root, member);
    indexer.begin(member);
    for (let bytes = reader.read(buffer); bytes > 0; bytes = reader.read(buffer)) {
      indexer.update(buffer.subarray(0, bytes));
      read += bytes;
      sinceTurn += bytes;
      if (sinceTurn < TURN_BYTES) continue;
      // Reading is synchronous: let signals and progress through now and then.
      sinceTurn = 0;
      options.onRead?.(read);
      await nextTurn();
      options.signal?.throwIfAborted();
    }
    reader.finish();
    indexer.end();
    sinceTurn += 4096;
  }
  options.onRead?.(read);
  return indexer.entries();
}

/** Bytes of large files from which a thread of its own cuts them: it takes some 40 ms to start. */
const THREAD_FROM_BYTES = 32 * 1024 * 1024;

/** Returns the thread that cuts the large files of a tree; undefined where they are too small for one. */
export function chunkThread({ members }: SourceTree): ChunkThread | undefined {
  const sizes = members.flatMap(({ type, size }) => (type === "file" && size > CHUNKED_FROM_BYTES ? [size] : []));
  return sizes.reduce((sum, size) => sum + size, 0) < THREAD_FROM_BYTES ? undefined : new ChunkThread(sizes);
}

/** Makes the index of a tree from the bytes of its files, which the caller reads for this or for something else. */
export class TreeIndexer {
  readonly #tree: SourceTree;
  readonly #chunked: boolean;
  readonly #thread: ChunkThread | undefined;
  readonly #files = new Map<string, FileEntry>();
  /** Files that the thread cuts. */
  readonly #awaited: FileEntry[] = [];
  #file: { member: SourceMember; digest: Hash; large: boolean; chunks?: ChunkList; chunker?: Chunker } | undefined;

  /**
   * @param chunked whether large files are cut into chunks
   * @param thread that cuts them; {@link complete} awaits it
   */
  constructor(tree: SourceTree, chunked = true, thread?: ChunkThread) {
    this.#tree = tree;
    this.#chunked = chunked;
    this.#thread = thread;
  }

  /** Takes a file whose bytes are all there. */
  whole(member: SourceMember, bytes: Buffer): void {
    if (this.#chunked && bytes.length > CHUNKED_FROM_BYTES) {
      this.begin(member);
      this.update(bytes);
      this.end();
    } else this.#record(member, hash("sha256", bytes, "hex"));
  }

  /** Begins a file that comes in pieces. */
  begin(member: SourceMember): void {
    const large = this.#chunked && member.size > CHUNKED_FROM_BYTES;
    this.#file = { member, digest: createHash("sha256"), large };
    if (!large || this.#thread !== undefined) return;
    const chunks = new ChunkList();
    this.#file.chunks = chunks;
    this.#file.chunker = new Chunker((length, chunkDigest) => chunks.push(length, chunkDigest));
  }

  /** Takes the file's next bytes, which may be overwritten when this returns. */
  update(block: Buffer): void {
    const { digest, chunker, large } = this.#file!;
    if (large) this.#thread?.write(block);
    digest.update(block);
    chunker?.update(block);
  }

  end(): void {
    const { member, digest, large, chunks, chunker } = this.#file!;
    chunker?.end();
    const entry = this.#record(member, digest.digest("hex"));
    if (chunks !== undefined) entry.chunks = chunks;
    if (large && this.#thread !== undefined) this.#awaited.push(entry);
  }

  #record({ path, executable, size }: SourceMember, sha256: string): FileEntry {
    const entry: FileEntry = { type: "file", path, executable, size, sha256 };
    this.#files.set(path, entry);
    return entry;
  }

  /** Resolves when half a mebibyte of bytes can be taken. */
  async room(): Promise<void> {
    await this.#thread?.room();
  }

  /** Adds the chunks that the thread has found to the entries. */
  async complete(): Promise<void> {
    const lists = (await this.#thread?.lists()) ?? [];
    this.#awaited.forEach((entry, index) => (entry.chunks = lists[index]!));
  }

  /** Files with their digests and chunks, and empty folders, in canonical order. */
  entries(): TreeEntry[] {
    const occupied = foldersInUse(this.#tree);
    return this.#tree.members.flatMap(({ type, path }): TreeEntry[] =>
      type === "file" ? [this.#files.get(path)!] : occupied.has(path) ? [] : [{ type, path }],
    );
  }
}

function foldersInUse(tree: SourceTree): ReadonlySet<string> {
  const occupied = new Set<string>();
  for (const { path } of tree.members) {
    const slash = path.lastIndexOf("/");
    if (slash > 0) occupied.add(path.slice(0, slash));
  }
  return occupied;
}
