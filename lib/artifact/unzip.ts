import { closeSync, createReadStream, openSync, readSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { crc32, createInflateRaw, inflateRawSync } from "node:zlib";
import { pipeline } from "node:stream/promises";
import { Writable } from "node:stream";
import { artifactError } from "../contract/errors.ts";
import { paceBuffers } from "../support/buffer-pacing.ts";
import type { Limits } from "./limits.ts";
import { quoted } from "./safe-path.ts";
import { TreeWriter } from "./tree-writer.ts";
import type { ZipIndex, ZipMember } from "./zip.ts";

/** Files up to this size are inflated with one call. */
const SMALL_FILE_BYTES = 1024 * 1024;
/** Bytes that are unpacked before the event loop has its turn. */
const TURN_BYTES = 4 * 1024 * 1024;
/** What a small file counts for beside its bytes. */
const FILE_COST_BYTES = 16 * 1024;

export interface UnzipOptions {
  limits: Limits;
  signal?: AbortSignal;
  /** Called now and then with the bytes of files written so far. */
  onUnpacked?: (bytes: number) => void;
}

export interface Unzipped {
  files: number;
  bytes: number;
  /** Digests of the files, by the paths that they have now. */
  tree: TreeWriter["files"];
}

/**
 * Unpacks a scanned archive into an empty, private folder; a single top folder is flattened. Sizes and CRCs are checked on what comes out.
 *
 * @throws ArtifactError `zip_invalid` for bytes that are not what the archive says
 */
export async function unzip(path: string, index: ZipIndex, folder: string, options: UnzipOptions): Promise<Unzipped> {
  const strip = index.topFolder === undefined ? 0 : 1;
  const tree = new TreeWriter(folder, options.limits);
  const pace = paceBuffers();
  const descriptor = openSync(path, "r");
  let sinceTurn = 0;
  try {
    for (const components of index.folders)
      if (components.length > strip) tree.folder(components.slice(strip).join("/"));
    for (const member of index.files) {
      tree.beginFile(member.components.slice(strip).join("/"), member.uncompressedSize, member.executable);
      if (member.compressedSize <= SMALL_FILE_BYTES && member.uncompressedSize <= SMALL_FILE_BYTES) {
        const content = smallMember(descriptor, member);
        if (content.length > 0) tree.write(content);
      } else {
        await largeMember(path, member, tree, options.signal);
      }
      tree.endFile();
      pace(member.uncompressedSize + member.compressedSize);
      sinceTurn += member.uncompressedSize + FILE_COST_BYTES;
      if (sinceTurn < TURN_BYTES) continue;
      // Writing is synchronous: let signals and progress through now and then.
      sinceTurn = 0;
      options.onUnpacked?.(tree.bytes);
      await nextTurn();
      options.signal?.throwIfAborted();
    }
    options.onUnpacked?.(tree.bytes);
    return { files: index.files.length, bytes: tree.bytes, tree: tree.files };
  } finally {
    tree.close();
    closeSync(descriptor);
  }
}

const lies = (member: ZipMember, why: string, cause?: unknown) =>
  artifactError("zip_invalid", `The archive's entry ${quoted(member.name)} ${why}.`, {
    ...(cause !== undefined && { cause }),
    hint: "Nothing was installed. Ask the publisher for a proper archive.",
  });

function smallMember(descriptor: number, member: ZipMember): Buffer {
  const packed = Buffer.allocUnsafe(member.compressedSize);
  for (let read = 0; read < packed.length;) {
    const bytes = readSync(descriptor, packed, read, packed.length - read, member.dataOffset + read);
    if (bytes === 0) throw lies(member, "ends early");
    read += bytes;
  }
  const content = member.method === 0 ? packed : inflated(packed, member);
  if (content.length !== member.uncompressedSize) throw lies(member, "has another size than it says");
  if (crc32(content) !== member.crc32) throw lies(member, "has another CRC than it says");
  return content;
}

function inflated(packed: Buffer, member: ZipMember): Buffer {
  try {
    const { buffer, engine } = inflateRawSync(packed, {
      maxOutputLength: Math.max(member.uncompressedSize, 1),
      info: true,
    }) as unknown as { buffer: Buffer; engine: { bytesWritten: number } };
    if (engine.bytesWritten !== packed.length) throw lies(member, "has bytes behind its end");
    return buffer;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw lies(member, "is longer than it says");
    if ((error as NodeJS.ErrnoException).code?.startsWith("Z_") === true)
      throw lies(member, "cannot be decompressed", error);
    throw error;
  }
}

async function largeMember(path: string, member: ZipMember, tree: TreeWriter, signal?: AbortSignal): Promise<void> {
  if (member.compressedSize === 0) throw lies(member, "cannot be decompressed");
  let checksum = 0;
  let received = 0;
  const pace = paceBuffers();
  const sink = new Writable({
    write(chunk: Buffer, _encoding, callback) {
      try {
        received += chunk.length;
        if (received > member.uncompressedSize) throw lies(member, "is longer than it says");
        checksum = crc32(chunk, checksum);
        tree.write(chunk);
        pace(chunk.length);
        callback();
      } catch (error) {
        callback(error as Error);
      }
    },
  });
  const source = createReadStream(path, {
    start: member.dataOffset,
    end: member.dataOffset + member.compressedSize - 1,
    highWaterMark: 256 * 1024,
  });
  const options = signal === undefined ? {} : { signal };
  const inflate = member.method === 0 ? undefined : createInflateRaw({ chunkSize: 256 * 1024 });
  try {
    if (inflate === undefined) await pipeline(source, sink, options);
    else await pipeline(source, inflate, sink, options);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code?.startsWith("Z_") === true)
      throw lies(member, "cannot be decompressed", error);
    throw error;
  }
  if (inflate !== undefined && inflate.bytesWritten !== member.compressedSize)
    throw lies(member, "has bytes behind its end");
  if (received !== member.uncompressedSize) throw lies(member, "is shorter than it says");
  if (checksum !== member.crc32) throw lies(member, "has another CRC than it says");
}
