import type { Entry } from "yauzl-promise";
import { artifactError, type SealiftError } from "../../contract/errors.ts";
import { quoted } from "../tree/safe-path.ts";
import type { FileWindow } from "./file-window.ts";

const LOCAL_HEADER_BYTES = 30;
const LOCAL_SIGNATURE = 0x04034b50;
const DESCRIPTOR_SIGNATURE = Buffer.from("PK\x07\x08", "latin1");
const DESCRIPTOR_MAX_BYTES = 24;
const FLAG_DESCRIPTOR = 0x0008;
const FLAG_UTF8 = 0x0800;
export const FLAG_ENCRYPTED = 0x0001;
export const FLAG_STRONG_ENCRYPTION = 0x0040;
export const FLAG_MASKED = 0x2000;
export const STORED = 0;

/** An archive that is no proper ZIP. */
export const malformed = (message: string, cause?: unknown): SealiftError =>
  artifactError("zip_invalid", message, {
    ...(cause !== undefined && { cause }),
    hint: "Nothing was unpacked. Ask the publisher for a proper archive.",
  });

/** The same, for the fault of one entry. */
export const badEntry = (name: string, why: string): SealiftError =>
  malformed(`The archive's entry ${quoted(name)} ${why}.`);

/** Where an entry lies in the archive. */
export interface Extent {
  name: string;
  start: number;
  dataOffset: number;
  end: number;
}

/** The local header must say what the central directory says: readers differ in which one they believe. */
export function checkLocalHeader(window: FileWindow, entry: Entry, name: string, directory: number): Extent {
  const filename = entry.filename as unknown as Buffer;
  const start = entry.fileHeaderOffset;
  const header = window.read(start, LOCAL_HEADER_BYTES + filename.length);
  if (header.length < LOCAL_HEADER_BYTES || header.readUInt32LE(0) !== LOCAL_SIGNATURE)
    throw badEntry(name, "points to no local header");
  const flags = header.readUInt16LE(6);
  const nameLength = header.readUInt16LE(26);
  const extraLength = header.readUInt16LE(28);
  if (nameLength !== filename.length || filename.compare(header, LOCAL_HEADER_BYTES) !== 0) throw lies(name, "name");
  const relevant = FLAG_ENCRYPTED | FLAG_DESCRIPTOR | FLAG_STRONG_ENCRYPTION | FLAG_UTF8 | FLAG_MASKED;
  if (((flags ^ entry.generalPurposeBitFlag) & relevant) !== 0) throw lies(name, "set of flags");
  if (header.readUInt16LE(8) !== entry.compressionMethod) throw lies(name, "compression method");
  const described = (flags & FLAG_DESCRIPTOR) !== 0;
  // With a data descriptor the local header may hold zeros; anything else must be right.
  const differs = (local: number, central: number): boolean => local !== central && !(described && local === 0);
  if (differs(header.readUInt32LE(14), entry.crc32 >>> 0)) throw lies(name, "CRC");
  const dataOffset = start + LOCAL_HEADER_BYTES + nameLength + extraLength;
  const sizes = localSizes(header, () => window.read(dataOffset - extraLength, extraLength));
  if (differs(sizes.compressed, entry.compressedSize)) throw lies(name, "compressed size");
  if (differs(sizes.uncompressed, entry.uncompressedSize)) throw lies(name, "size");
  if (entry.compressionMethod === STORED && entry.compressedSize !== entry.uncompressedSize)
    throw badEntry(name, "is stored with two different sizes");
  const dataEnd = dataOffset + entry.compressedSize;
  const end = described ? dataEnd + descriptorBytes(window, entry, name, dataEnd) : dataEnd;
  if (end > directory) throw badEntry(name, "reaches into the central directory");
  return { name, start, dataOffset, end };
}

const lies = (name: string, what: string): SealiftError =>
  badEntry(name, `has a local header with another ${what} than the central directory`);

/** Length of the data descriptor behind an entry, which has four forms: with and without its signature, with sizes of 4 and of 8 bytes. */
function descriptorBytes(window: FileWindow, entry: Entry, name: string, at: number): number {
  const read = window.read(at, DESCRIPTOR_MAX_BYTES);
  for (const sizeBytes of [4, 8]) {
    const expected = Buffer.alloc(4 + 2 * sizeBytes);
    expected.writeUInt32LE(entry.crc32 >>> 0, 0);
    // Sizes beyond four bytes have no short form.
    if (sizeBytes === 8) {
      expected.writeBigUInt64LE(BigInt(entry.compressedSize), 4);
      expected.writeBigUInt64LE(BigInt(entry.uncompressedSize), 12);
    } else if (Math.max(entry.compressedSize, entry.uncompressedSize) <= 0xffffffff) {
      expected.writeUInt32LE(entry.compressedSize, 4);
      expected.writeUInt32LE(entry.uncompressedSize, 8);
    } else continue;
    for (const form of [Buffer.concat([DESCRIPTOR_SIGNATURE, expected]), expected])
      if (form.length <= read.length && read.subarray(0, form.length).equals(form)) return form.length;
  }
  throw badEntry(name, "has a data descriptor that says something else than the central directory");
}

/** Sizes of a local header, from its ZIP64 field where it has one. @param readExtra gives its extra fields, in the header's place */
function localSizes(header: Buffer, readExtra: () => Buffer): { compressed: number; uncompressed: number } {
  let compressed = header.readUInt32LE(18);
  let uncompressed = header.readUInt32LE(22);
  if (compressed !== 0xffffffff && uncompressed !== 0xffffffff) return { compressed, uncompressed };
  const extra = readExtra();
  for (let at = 0; at + 4 <= extra.length;) {
    const length = extra.readUInt16LE(at + 2);
    const data = extra.subarray(at + 4, at + 4 + length);
    if (extra.readUInt16LE(at) === 0x0001) {
      let next = 0;
      const take = (): number => {
        if (next + 8 > data.length) return -1;
        next += 8;
        return Number(data.readBigUInt64LE(next - 8));
      };
      if (uncompressed === 0xffffffff) uncompressed = take();
      if (compressed === 0xffffffff) compressed = take();
    }
    at += 4 + length;
  }
  return { compressed, uncompressed };
}
