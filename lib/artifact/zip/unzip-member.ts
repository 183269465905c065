import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { crc32, createInflateRaw, inflateRawSync } from "node:zlib";
import { artifactError } from "../../contract/errors.ts";
import { paced } from "../../support/buffer-pacing.ts";
import { quoted } from "../tree/safe-path.ts";
import type { FileWindow } from "./file-window.ts";
import type { ZipMember } from "./member-table.ts";

/** Largest file that is inflated with one call, in bytes. */
const SMALL_FILE_BYTES = 1024 * 1024;

/** True for a member that is unpacked with one call. */
export const isSmall = ({
  compressedSize,
  uncompressedSize,
}: Pick<ZipMember, "compressedSize" | "uncompressedSize">): boolean =>
  Math.max(compressedSize, uncompressedSize) <= SMALL_FILE_BYTES;

/** Packed bytes of members, as a second reader finds them. */
export interface PackedMembers {
  /** Opens a member. @throws Error when that reader does not find it where the scan did */
  open(member: ZipMember): Promise<Readable>;
}

/** Returns the error of a member whose bytes contradict the archive's directory. */
const lies = (member: ZipMember, why: string, cause?: unknown) =>
  artifactError("zip_invalid", `The archive's entry ${quoted(member.path)} ${why}.`, {
    ...(cause !== undefined && { cause }),
    hint: "Nothing was installed. Ask the publisher for a proper archive.",
  });

/**
 * Inflates a small member, and checks size and CRC of the output.
 *
 * @returns bytes that the window's next read may overwrite
 * @throws ArtifactError `zip_invalid`
 */
export function smallContent(archive: FileWindow, member: ZipMember): Buffer {
  const packed = archive.read(member.dataOffset, member.compressedSize);
  if (packed.length < member.compressedSize) throw lies(member, "ends early");
  const content = member.method === 0 ? packed : inflated(packed, member);
  if (content.length !== member.uncompressedSize) throw lies(member, "has another size than it says");
  if (crc32(content) !== member.crc32) throw lies(member, "has another CRC than it says");
  return content;
}

function inflated(packed: Buffer, member: ZipMember): Buffer {
  try {
    const { buffer, engine } = inflateRawSync(packed, {
      maxOutputLength: Math.max(member.uncompressedSize, 1),
      // One buffer of the right size: the last byte is for finding the end.
      chunkSize: Math.max(member.uncompressedSize + 1, 64),
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

/**
 * Passes a large member's content to `write` piece by piece, and checks size and CRC of the output. When it throws,
 * wrong pieces may already have been passed on.
 *
 * @throws ArtifactError `zip_invalid`
 */
export async function largeContent(
  streams: PackedMembers,
  member: ZipMember,
  write: (chunk: Buffer) => void,
): Promise<void> {
  if (member.compressedSize === 0) throw lies(member, "cannot be decompressed");
  const source = await streams.open(member).catch((error: Error) => {
    throw lies(member, `cannot be read: ${error.message}`, error);
  });
  let checksum = 0;
  let received = 0;
  const check = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of paced(chunks)) {
      received += chunk.length;
      if (received > member.uncompressedSize) throw lies(member, "is longer than it says");
      checksum = crc32(chunk, checksum);
      write(chunk);
    }
  };
  const inflate = member.method === 0 ? undefined : createInflateRaw({ chunkSize: 256 * 1024 });
  try {
    if (inflate === undefined) await pipeline(source, check);
    else await pipeline(source, inflate, check);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code?.startsWith("Z_") === true) throw lies(member, "cannot be decompressed", error);
    // The inflater ends before its source does.
    if (code === "ERR_STREAM_PREMATURE_CLOSE") throw lies(member, "has bytes behind its end");
    throw error;
  }
  if (inflate !== undefined && inflate.bytesWritten !== member.compressedSize)
    throw lies(member, "has bytes behind its end");
  if (received !== member.uncompressedSize) throw lies(member, "is shorter than it says");
  if (checksum !== member.crc32) throw lies(member, "has another CRC than it says");
}
