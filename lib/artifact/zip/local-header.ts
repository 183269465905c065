import type { SealiftError } from "../../contract/errors.ts";
import {
  badEntry,
  type CentralHeader,
  extraFields,
  FLAG_ENCRYPTED,
  FLAG_MASKED,
  FLAG_PATCHED,
  FLAG_STRONG_ENCRYPTION,
  STORED,
  UNSET,
  ZIP64_FIELD,
} from "./central-header.ts";
import type { FileWindow } from "./file-window.ts";

const LOCAL_HEADER_BYTES = 30;
const LOCAL_SIGNATURE = 0x04034b50;
const DESCRIPTOR_SIGNATURE = Buffer.from("PK\x07\x08", "latin1");
const DESCRIPTOR_MAX_BYTES = 24;
const FLAG_DESCRIPTOR = 0x0008;
const FLAG_UTF8 = 0x0800;

/** Range of an entry in the archive, in bytes from its start. */
export interface Extent {
  start: number;
  dataOffset: number;
  end: number;
}

/**
 * Compares an entry's local header with the central directory: readers differ in which one they trust.
 *
 * @param directory start of the central directory
 * @throws ArtifactError `zip_invalid` when they differ in anything that matters
 */
export function checkLocalHeader(window: FileWindow, entry: CentralHeader, directory: number): Extent {
  const { name, rawName, localOffset: start } = entry;
  const header = window.read(start, LOCAL_HEADER_BYTES + rawName.length);
  if (header.length < LOCAL_HEADER_BYTES || header.readUInt32LE(0) !== LOCAL_SIGNATURE)
    throw badEntry(name, "points to no local header");
  const flags = header.readUInt16LE(6);
  const nameLength = header.readUInt16LE(26);
  const extraLength = header.readUInt16LE(28);
  if (nameLength !== rawName.length || rawName.compare(header, LOCAL_HEADER_BYTES) !== 0) throw lies(name, "name");
  const relevant = FLAG_ENCRYPTED | FLAG_DESCRIPTOR | FLAG_PATCHED | FLAG_STRONG_ENCRYPTION | FLAG_UTF8 | FLAG_MASKED;
  if (((flags ^ entry.flags) & relevant) !== 0) throw lies(name, "set of flags");
  if (header.readUInt16LE(8) !== entry.method) throw lies(name, "compression method");
  const described = (flags & FLAG_DESCRIPTOR) !== 0;
  // With a data descriptor the local header may hold zeros; anything else must be right.
  const differs = (local: number, central: number): boolean => local !== central && !(described && local === 0);
  if (differs(header.readUInt32LE(14), entry.crc32)) throw lies(name, "CRC");
  const dataOffset = start + LOCAL_HEADER_BYTES + nameLength + extraLength;
  const sizes = localSizes(header, name, () => window.read(dataOffset - extraLength, extraLength));
  if (differs(sizes.compressed, entry.compressedSize)) throw lies(name, "compressed size");
  if (differs(sizes.uncompressed, entry.uncompressedSize)) throw lies(name, "size");
  if (entry.method === STORED && entry.compressedSize !== entry.uncompressedSize)
    throw badEntry(name, "is stored with two different sizes");
  const dataEnd = dataOffset + entry.compressedSize;
  const end = described ? dataEnd + descriptorBytes(window, entry, dataEnd) : dataEnd;
  if (end > directory) throw badEntry(name, "reaches into the central directory");
  return { start, dataOffset, end };
}

/** Returns the name in the local header at `start`, which has been checked before. */
export function localName(window: FileWindow, start: number): string {
  const nameLength = window.read(start, LOCAL_HEADER_BYTES).readUInt16LE(26);
  return window.read(start + LOCAL_HEADER_BYTES, nameLength).toString("utf8");
}

const lies = (name: string, what: string): SealiftError =>
  badEntry(name, `has a local header with another ${what} than the central directory`);

/**
 * Returns the length of the data descriptor after an entry, which has four forms: with and without its signature, with
 * sizes of 4 and of 8 bytes.
 */
function descriptorBytes(window: FileWindow, entry: CentralHeader, at: number): number {
  const read = window.read(at, DESCRIPTOR_MAX_BYTES);
  for (const sizeBytes of [4, 8]) {
    const expected = Buffer.alloc(4 + 2 * sizeBytes);
    expected.writeUInt32LE(entry.crc32, 0);
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
  throw badEntry(entry.name, "has a data descriptor that says something else than the central directory");
}

/**
 * Returns the sizes in a local header, from its ZIP64 field if it has one.
 *
 * @param readExtra returns its extra fields
 */
function localSizes(
  header: Buffer,
  name: string,
  readExtra: () => Buffer,
): { compressed: number; uncompressed: number } {
  let compressed = header.readUInt32LE(18);
  let uncompressed = header.readUInt32LE(22);
  if (compressed !== UNSET && uncompressed !== UNSET) return { compressed, uncompressed };
  for (const { id, data } of extraFields(readExtra(), name)) {
    if (id !== ZIP64_FIELD) continue;
    let next = 0;
    const take = (): number => (next + 8 > data.length ? -1 : Number(data.readBigUInt64LE((next += 8) - 8)));
    if (uncompressed === UNSET) uncompressed = take();
    if (compressed === UNSET) compressed = take();
  }
  return { compressed, uncompressed };
}
