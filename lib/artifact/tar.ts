import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { pack } from "tar-stream";
import { publishError } from "../contract/errors.ts";
import { MANIFEST_FILE } from "../contract/manifest.ts";
import { quoted } from "./safe-path.ts";
import { type SourceMember, type SourceTree, stampOf } from "./source-tree.ts";
import { comparePaths } from "./tree-digest.ts";

const BLOCK = 512;
const END_BYTES = 2 * BLOCK;
/** Files up to this size are read with one call; larger ones in pieces of this size. */
const READ_BYTES = 1024 * 1024;
/** Small chunks are joined to about this size: each chunk is one round trip to the compressor's thread. */
const JOIN_BYTES = 512 * 1024;

const padded = (bytes: number): number => Math.ceil(bytes / BLOCK) * BLOCK;

/** A member's name inside the tar: `./…`, folders with a trailing slash (formats, section 1). */
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
  const filled = fill(archive, tree, manifest, new Date(mtime * 1000), signal).catch((error: unknown) =>
    archive.destroy(error as Error),
  );
  let joined: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of archive as AsyncIterable<Buffer>) {
      joined.push(chunk);
      bytes += chunk.length;
      if (bytes < JOIN_BYTES) continue;
      yield joined.length === 1 ? chunk : Buffer.concat(joined, bytes);
      joined = [];
      bytes = 0;
    }
    if (bytes > 0) yield Buffer.concat(joined, bytes);
  } finally {
    archive.destroy();
    await filled;
  }
}

type Archive = ReturnType<typeof pack>;

async function fill(
  archive: Archive,
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
    else if (member.size <= READ_BYTES) await whole(memberName(member.path, false), mode, readWhole(tree.root, member));
    else
      await large(
        archive,
        { ...common, name: memberName(member.path, false), mode, type: "file", size: member.size },
        tree.root,
        member,
      );
  }
  if (!manifestWritten) await whole(memberName(MANIFEST_FILE, false), 0o644, manifest);
  archive.finalize();
}

/** Opens a listed file and makes sure, at the start and at the end, that it is the one that was listed. */
function withFile<T>(root: string, member: SourceMember, use: (descriptor: number) => T): T {
  const descriptor = openSync(join(root, member.path), "r");
  try {
    if (stampOf(fstatSync(descriptor, { bigint: true })) !== member.stamp) throw changed(member.path);
    return use(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

const readWhole = (root: string, member: SourceMember): Buffer =>
  withFile(root, member, (descriptor) => {
    const content = readFileSync(descriptor);
    if (content.length !== member.size) throw changed(member.path);
    return content;
  });

async function large(
  archive: Archive,
  header: Parameters<Archive["entry"]>[0],
  root: string,
  member: SourceMember,
): Promise<void> {
  const finished = Promise.withResolvers<void>();
  finished.promise.catch(() => {});
  const sink = archive.entry(header, (error?: Error | null) => (error ? finished.reject(error) : finished.resolve()));
  for (const chunk of readPieces(root, member)) {
    if (!sink.write(chunk)) {
      await Promise.race([new Promise<void>((resolve) => sink.once("drain", () => resolve())), finished.promise]);
    }
  }
  sink.end(null);
  await finished.promise;
}

/** A file in pieces of {@link READ_BYTES}, checked against its listing before the first and after the last. */
export function* readPieces(root: string, member: SourceMember): Generator<Buffer> {
  const descriptor = openSync(join(root, member.path), "r");
  try {
    if (stampOf(fstatSync(descriptor, { bigint: true })) !== member.stamp) throw changed(member.path);
    let read = 0;
    for (;;) {
      const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
      const bytes = readSync(descriptor, buffer);
      if (bytes === 0) break;
      read += bytes;
      yield buffer.subarray(0, bytes);
    }
    if (read !== member.size || stampOf(fstatSync(descriptor, { bigint: true })) !== member.stamp)
      throw changed(member.path);
  } finally {
    closeSync(descriptor);
  }
}

const changed = (path: string) =>
  publishError("source_changed", `${quoted(path)} changed while it was being packed.`, {
    hint: "Publish from a tree that nothing else writes to.",
  });
