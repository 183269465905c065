import { createHash, type Hash, hash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ChunkThread } from "./chunk-thread.ts";
import { Chunker, ChunkList, MAX_CHUNK_BYTES } from "./chunks.ts";
import { FileTable } from "./file-table.ts";
import type { SourceMember } from "./member-list.ts";
import { MemberReader } from "./member-reader.ts";
import type { SourceTree } from "./source-tree.ts";
import { TreeEntries } from "./tree-listing.ts";

/** Size above which files are cut into chunks, in bytes; smaller ones are sent whole when they change. */
export const CHUNKED_FROM_BYTES = MAX_CHUNK_BYTES;

const READ_BYTES = 1024 * 1024;
/** Bytes read before yielding to the event loop. */
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
 * @throws PublishError `source_changed` when a file has changed since the tree was listed
 */
export async function indexTree(tree: SourceTree, options: IndexOptions = {}): Promise<TreeEntries> {
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

/** Bytes of large files from which a separate thread cuts them: it takes some 40 ms to start. */
const THREAD_FROM_BYTES = 32 * 1024 * 1024;

/** Returns a thread to cut the large files of a tree; undefined where they are too small for one. */
export function chunkThread({ members }: SourceTree): ChunkThread | undefined {
  const sizes: number[] = [];
  for (let index = 0; index < members.length; index++) {
    const size = members.sizeAt(index);
    if (size > CHUNKED_FROM_BYTES) sizes.push(size);
  }
  return sizes.reduce((sum, size) => sum + size, 0) < THREAD_FROM_BYTES ? undefined : new ChunkThread(sizes);
}

/** Makes the index of a tree from the bytes of its files, which the caller reads for this or for something else. */
export class TreeIndexer {
  readonly #tree: SourceTree;
  readonly #chunked: boolean;
  readonly #thread: ChunkThread | undefined;
  readonly #files: FileTable;
  /** Chunks by the index of their file. */
  readonly #chunks = new Map<number, ChunkList>();
  /** Indices of the files that the thread cuts. */
  readonly #awaited: number[] = [];
  #file: { member: SourceMember; digest: Hash; large: boolean; chunks?: ChunkList; chunker?: Chunker } | undefined;

  /**
   * @param chunked whether large files are cut into chunks
   * @param thread that cuts them; {@link complete} awaits it
   */
  constructor(tree: SourceTree, chunked = true, thread?: ChunkThread) {
    this.#tree = tree;
    this.#files = FileTable.empty(tree.members.files);
    this.#chunked = chunked;
    this.#thread = thread;
  }

  /** Adds a file from all of its bytes. */
  whole(member: SourceMember, bytes: Buffer): void {
    if (this.#chunked && bytes.length > CHUNKED_FROM_BYTES) {
      this.begin(member);
      this.update(bytes);
      this.end();
    } else this.#record(member, hash("sha256", bytes, "hex"));
  }

  /** Starts a file that arrives in pieces. */
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
    const file = this.#record(member, digest.digest("hex"));
    if (chunks !== undefined) this.#chunks.set(file, chunks);
    if (large && this.#thread !== undefined) this.#awaited.push(file);
  }

  /** Records a file. @returns its index */
  #record({ path, executable, size }: SourceMember, sha256: string): number {
    return this.#files.add({ path, executable, size, sha256 });
  }

  /** Resolves when another half mebibyte can be taken. */
  async room(): Promise<void> {
    await this.#thread?.room();
  }

  /** Adds the chunks that the thread has found to the entries. */
  async complete(): Promise<void> {
    const lists = (await this.#thread?.lists()) ?? [];
    this.#awaited.forEach((file, index) => this.#chunks.set(file, lists[index]!));
  }

  /** Returns files with their digests and chunks, and empty folders. */
  entries(): TreeEntries {
    return new TreeEntries({ files: this.#files, emptyFolders: this.#tree.members.emptyFolders() }, this.#chunks);
  }
}
