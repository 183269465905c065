import { pack } from "tar-stream";
import { MANIFEST_FILE } from "../../contract/files/manifest.ts";
import type { SourceMember } from "../tree/member-list.ts";
import { MemberReader, readMember } from "../tree/member-reader.ts";
import type { SourceTree } from "../tree/source-tree.ts";
import { BLOCK_BYTES } from "./tar-header.ts";

const END_BYTES = 2 * BLOCK_BYTES;
/** Bytes per chunk for the compressor: each costs a round trip to its thread. */
const CHUNK_BYTES = 512 * 1024;
/** Number of chunk buffers used in turn: one being filled, one waiting, one with the compressor. */
export const CHUNKS = 3;
/** Largest file that is placed in one chunk and read with one call, in bytes. */
const WHOLE_BYTES = 64 * 1024;

/** Watcher of every packed file, in tree order, so that its bytes need not be read again. */
export interface FileWatch {
  /** @param bytes whole file; overwritten later */
  whole: (member: SourceMember, bytes: Buffer) => void;
  begin: (member: SourceMember) => void;
  /** @param bytes next bytes of a file that was begun; overwritten later */
  update: (bytes: Buffer) => void;
  end: () => void;
  /** Resolves when the bytes of one more chunk of the tar can be taken. */
  room: () => Promise<void>;
}

/** Tree to pack as a tar, with the manifest as its last member. */
export interface TarSource {
  tree: SourceTree;
  /** Modification time of every member, in seconds since 1970. */
  mtime: number;
  manifestBytes: number;
  /** Returns the manifest, of exactly `manifestBytes`. Called when every file has been packed. */
  manifest: () => Buffer;
  watch?: FileWatch;
}

/** Member as in its header. Owner and group are 0 and have no names (docs/contract/project-artifact.md). */
interface TarMember {
  /** Name inside the tar: `./…`, folders with a trailing slash. */
  name: string;
  type: "file" | "folder";
  mode: number;
  /** Size in bytes; 0 for a folder. */
  size: number;
  /** Seconds since 1970. */
  mtime: number;
}

/** Names of ASCII up to this length need no pax header. */
const SHORT_NAME = /^[\u0000-\u007f]{0,100}$/;
/**
 * Latest time that tar-stream's 32 bits can express, in seconds; any constant time makes the same archive from the same
 * tree.
 */
const MAX_MTIME = 2 ** 31 - 1;

/** Rounds up to whole blocks. */
const padded = (bytes: number): number => Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES;

/** Part of a pack that makes headers, including the pax header of a long name. */
interface HeaderEncoder {
  push: (block: Buffer) => boolean;
  _encode: (header: object) => void;
}

/**
 * tar-stream's headers without its streams: one per small file would take longer than the file
 * (docs/decisions/0019-manifest-last.md).
 */
const encoder = pack() as unknown as HeaderEncoder;
const blocks: Buffer[] = [];
encoder.push = (block) => blocks.push(block) > 0;

/** Returns the blocks of a member's header: one, or three or more where its name needs a pax header. */
function memberHeader({ name, type, mode, size, mtime }: TarMember): Buffer {
  const seconds = Math.min(mtime, MAX_MTIME);
  encoder._encode({
    ...{ name, mode, size, uid: 0, gid: 0 },
    type: type === "folder" ? "directory" : "file",
    mtime: new Date(seconds * 1000),
  });
  const header = blocks.splice(0);
  return header.length === 1 ? header[0]! : Buffer.concat(header);
}

/** Returns the length of the header that {@link memberHeader} makes, in bytes. */
const headerBytes = (name: string): number =>
  SHORT_NAME.test(name) ? BLOCK_BYTES : memberHeader({ name, type: "file", mode: 0, size: 0, mtime: 0 }).length;

/** Returns a member's name inside the tar: `./…`, folders with a trailing slash. */
const nameOf = ({ path, type }: Pick<SourceMember, "path" | "type">): string =>
  `./${path}${type === "folder" && path !== "" ? "/" : ""}`;

const headerOf = (member: Omit<SourceMember, "stamp">, mtime: number): TarMember => ({
  name: nameOf(member),
  type: member.type,
  mode: member.type === "folder" || member.executable ? 0o755 : 0o644,
  size: member.size,
  mtime,
});

const ROOT = { path: "", type: "folder", size: 0, executable: false } as const;
const manifestMember = (size: number) => ({ path: MANIFEST_FILE, type: "file", size, executable: false }) as const;

/**
 * Returns the exact length in bytes of the tar that {@link tarChunks} makes, known before its first byte (the frame's
 * content size).
 */
export function tarBytes({ tree, manifestBytes }: Pick<TarSource, "tree" | "manifestBytes">): number {
  const bytesOf = (member: Omit<SourceMember, "stamp">): number => headerBytes(nameOf(member)) + padded(member.size);
  let bytes = bytesOf(ROOT) + bytesOf(manifestMember(manifestBytes)) + END_BYTES;
  for (const member of tree.members) bytes += bytesOf(member);
  return bytes;
}

/**
 * Yields the reproducible tar of a tree in chunks: members sorted by path components, the manifest last, owner 0, no
 * names, one mtime, modes 0755 and 0644. Reads each file once, straight into the chunk.
 *
 * A chunk is valid until {@link CHUNKS} more are requested.
 *
 * @throws PublishError `source_changed` when a file has changed since it was listed
 */
export function* tarChunks(source: TarSource): Generator<Buffer, void> {
  const { tree, mtime, watch } = source;
  const slab = new Slab();
  yield* slab.add(memberHeader(headerOf(ROOT, mtime)));
  for (const member of tree.members) {
    yield* slab.add(memberHeader(headerOf(member, mtime)));
    if (member.type === "folder") continue;
    if (member.size <= WHOLE_BYTES) {
      if (!slab.holds(padded(member.size))) yield slab.turn();
      const place = slab.place(padded(member.size));
      readMember(tree.root, member, place, 0);
      place.fill(0, member.size);
      watch?.whole(member, place.subarray(0, member.size));
      if (slab.full) yield slab.turn();
      continue;
    }
    watch?.begin(member);
    using reader = new MemberReader(tree.root, member);
    for (let left = member.size; left > 0;) {
      const bytes = reader.read(slab.room(left));
      // `finish` notices that the file is shorter than it was.
      if (bytes === 0) break;
      const piece = slab.place(bytes);
      watch?.update(piece);
      left -= bytes;
      if (slab.full) yield slab.turn();
    }
    reader.finish();
    watch?.end();
    yield* slab.pad(member.size);
  }
  yield* slab.add(memberHeader(headerOf(manifestMember(source.manifestBytes), mtime)));
  yield* slab.add(source.manifest());
  yield* slab.pad(source.manifestBytes);
  yield* slab.add(Buffer.alloc(END_BYTES));
  if (slab.bytes > 0) yield slab.turn();
}

/** Chunk being filled, and the previous ones. A chunk is whole blocks. */
class Slab {
  bytes = 0;
  readonly #chunks = Array.from({ length: CHUNKS }, () => Buffer.allocUnsafeSlow(CHUNK_BYTES));
  #turns = 0;

  get #chunk(): Buffer {
    return this.#chunks[this.#turns % CHUNKS]!;
  }

  get full(): boolean {
    return this.bytes === CHUNK_BYTES;
  }

  /** Tells whether this many bytes fit into the current chunk. */
  holds(bytes: number): boolean {
    return this.bytes + bytes <= CHUNK_BYTES;
  }

  /** Returns the place of the next bytes, for which there must be room. */
  place(bytes: number): Buffer {
    this.bytes += bytes;
    return this.#chunk.subarray(this.bytes - bytes, this.bytes);
  }

  /** Returns the place for up to `wanted` next bytes. */
  room(wanted: number): Buffer {
    return this.#chunk.subarray(this.bytes, this.bytes + wanted);
  }

  /** Returns the filled chunk and starts the next one. */
  turn(): Buffer {
    const chunk = this.#chunk.subarray(0, this.bytes);
    this.#turns++;
    this.bytes = 0;
    return chunk;
  }

  *add(bytes: Buffer): Generator<Buffer, void> {
    for (let at = 0; at < bytes.length;) {
      const copied = bytes.copy(this.#chunk, this.bytes, at);
      this.bytes += copied;
      at += copied;
      if (this.full) yield this.turn();
    }
  }

  /** Fills a member's last block. Chunks are whole blocks: it never crosses into the next one. */
  *pad(size: number): Generator<Buffer, void> {
    this.place(padded(size) - size).fill(0);
    if (this.full) yield this.turn();
  }
}
