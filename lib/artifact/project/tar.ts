import { pack } from "tar-stream";
import { MANIFEST_FILE } from "../../contract/files/manifest.ts";
import { MemberReader } from "../tree/member-reader.ts";
import type { SourceMember, SourceTree } from "../tree/source-tree.ts";
import { comparePaths } from "../tree/tree-digest.ts";

const BLOCK = 512;
const END_BYTES = 2 * BLOCK;
/** Files up to this size are read with one call; larger ones in pieces of {@link PIECE_BYTES}. */
const SMALL_FILE_BYTES = 64 * 1024;
/** Pieces of large files, and the chunks that the compressor gets: each chunk is one round trip to its thread. */
const PIECE_BYTES = 256 * 1024;
/** Pieces under way at once: one being packed, one being read. */
const PIECES = 2;

const padded = (bytes: number): number => Math.ceil(bytes / BLOCK) * BLOCK;

/** A member's name inside the tar: `./…`, folders with a trailing slash (docs/contract/project-artifact.md). */
const memberName = (path: string, folder: boolean): string => `./${path}${folder ? "/" : ""}`;

/**
 * Bytes that a member's headers take: one block, or three or more where its name needs a pax header (tar-stream writes one for names
 * that are not ASCII or do not split into 155 + 100 bytes). The compressor refuses the artifact if this is ever wrong.
 */
function headerBytes(name: string): number {
  let rest = name;
  let prefix = 0;
  let fits = Buffer.byteLength(name) === name.length;
  while (fits && rest.length > 100) {
    const slash = rest.indexOf("/");
    if (slash === -1) fits = false;
    prefix += slash + (prefix > 0 ? 1 : 0);
    rest = rest.slice(slash + 1);
  }
  if (fits && prefix <= 155) return BLOCK;
  const record = Buffer.byteLength(` path=${name}\n`);
  let digits = String(record).length;
  if (String(record + digits).length > digits) digits++;
  return BLOCK + padded(record + digits) + BLOCK;
}

/** Exact length in bytes of the tar that {@link tarChunks} makes, known before its first byte (the frame's content size). */
export function tarBytes(tree: SourceTree, manifest: Buffer): number {
  let bytes = headerBytes("./") + headerBytes(memberName(MANIFEST_FILE, false)) + padded(manifest.length) + END_BYTES;
  for (const { path, type, size } of tree.members)
    bytes += headerBytes(memberName(path, type === "folder")) + padded(size);
  return bytes;
}

/**
 * The reproducible tar of a tree with its manifest, in joined chunks: members sorted by path components, owner 0, no names, one
 * mtime, modes 0755 and 0644.
 *
 * A chunk is valid until the next but one is asked for: two buffers take turns.
 *
 * @param mtime seconds since the epoch
 * @throws PublishError `source_changed` when a file is not what it was when it was listed
 */
export async function* tarChunks(
  tree: SourceTree,
  manifest: Buffer,
  mtime: number,
  signal?: AbortSignal,
): AsyncGenerator<Buffer> {
  const archive = pack();
  const pieces = new PiecePool();
  const filled = fill(archive, pieces, tree, manifest, new Date(mtime * 1000), signal).catch((error: unknown) => {
    archive.destroy(error as Error);
    pieces.close();
  });
  let joined = Buffer.allocUnsafeSlow(PIECE_BYTES);
  let other = Buffer.allocUnsafeSlow(PIECE_BYTES);
  let bytes = 0;
  try {
    for await (const chunk of archive as AsyncIterable<Buffer>) {
      for (let taken = 0; taken < chunk.length;) {
        const copied = chunk.copy(joined, bytes, taken);
        taken += copied;
        bytes += copied;
        if (bytes < PIECE_BYTES) continue;
        yield joined;
        [joined, other] = [other, joined];
        bytes = 0;
      }
      pieces.release(chunk);
    }
    if (bytes > 0) yield joined.subarray(0, bytes);
  } finally {
    archive.destroy();
    pieces.close();
    await filled;
  }
}

/** A few buffers for pieces of files, so that packing a large file leaves no garbage behind. */
class PiecePool {
  readonly #free: Buffer[] = Array.from({ length: PIECES }, () => Buffer.allocUnsafeSlow(PIECE_BYTES));
  readonly #owned = new Set<ArrayBufferLike>(this.#free.map(({ buffer }) => buffer));
  #waiting: ((buffer: Buffer) => void) | undefined;

  /** A free buffer; only one caller waits at a time. */
  async take(): Promise<Buffer> {
    return this.#free.pop() ?? new Promise((resolve) => (this.#waiting = resolve));
  }

  /** Takes back the buffer that `chunk` is a view of, if it is one of the pool's. */
  release(chunk: Buffer): void {
    if (!this.#owned.has(chunk.buffer)) return;
    const buffer = Buffer.from(chunk.buffer);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) this.#free.push(buffer);
    else waiting(buffer);
  }

  /** Lets a waiting caller go on to find out that nobody reads any more. */
  close(): void {
    this.#waiting?.(Buffer.allocUnsafeSlow(PIECE_BYTES));
    this.#waiting = undefined;
  }
}

type Archive = ReturnType<typeof pack>;

async function fill(
  archive: Archive,
  pieces: PiecePool,
  tree: SourceTree,
  manifest: Buffer,
  mtime: Date,
  signal?: AbortSignal,
): Promise<void> {
  const common = { uid: 0, gid: 0, uname: "", gname: "", mtime };
  const whole = (name: string, mode: number, content: Buffer): Promise<void> =>
    new Promise((resolve, reject) => {
      archive.entry({ ...common, name, mode, type: "file" }, content, (error) => (error ? reject(error) : resolve()));
    });
  const folder = (name: string): Promise<void> =>
    new Promise((resolve, reject) => {
      archive.entry({ ...common, name, mode: 0o755, type: "directory" }, (error) =>
        error ? reject(error) : resolve(),
      );
    });

  await folder("./");
  let manifestWritten = false;
  for (const member of tree.members) {
    signal?.throwIfAborted();
    if (!manifestWritten && comparePaths(member.path, MANIFEST_FILE) > 0) {
      await whole(memberName(MANIFEST_FILE, false), 0o644, manifest);
      manifestWritten = true;
    }
    const mode = member.executable ? 0o755 : 0o644;
    if (member.type === "folder") await folder(memberName(member.path, true));
    else if (member.size <= SMALL_FILE_BYTES)
      await whole(memberName(member.path, false), mode, readWhole(tree.root, member));
    else
      await large(
        archive,
        pieces,
        { ...common, name: memberName(member.path, false), mode, type: "file", size: member.size },
        tree.root,
        member,
      );
  }
  if (!manifestWritten) await whole(memberName(MANIFEST_FILE, false), 0o644, manifest);
  archive.finalize();
}

function readWhole(root: string, member: SourceMember): Buffer {
  using reader = new MemberReader(root, member);
  const content = Buffer.allocUnsafe(member.size);
  for (let filled = 0; filled < member.size;) {
    const bytes = reader.read(content.subarray(filled));
    if (bytes === 0) break;
    filled += bytes;
  }
  reader.finish();
  return content;
}

async function large(
  archive: Archive,
  pieces: PiecePool,
  header: Parameters<Archive["entry"]>[0],
  root: string,
  member: SourceMember,
): Promise<void> {
  const finished = Promise.withResolvers<void>();
  finished.promise.catch(() => {});
  const sink = archive.entry(header, (error?: Error | null) => (error ? finished.reject(error) : finished.resolve()));
  // Destroying the archive destroys its open member with the same error, which the archive reports.
  sink.on("error", () => {});
  using reader = new MemberReader(root, member);
  for (let read = 0; read < member.size;) {
    const buffer = await pieces.take();
    const bytes = reader.read(buffer);
    if (bytes === 0) break;
    read += bytes;
    if (!sink.write(buffer.subarray(0, bytes))) {
      await Promise.race([new Promise<void>((resolve) => sink.once("drain", () => resolve())), finished.promise]);
    }
  }
  reader.finish();
  sink.end(null);
  await finished.promise;
}
