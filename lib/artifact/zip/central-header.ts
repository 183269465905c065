import { artifactError, type SealiftError } from "../../contract/errors.ts";
import { quoted } from "../tree/safe-path.ts";
import { exactNumber, malformed } from "./end-record.ts";
import type { FileWindow } from "./file-window.ts";

const HEADER_BYTES = 46;
const SIGNATURE = 0x02014b50;
const UNICODE_PATH_FIELD = 0x7075;
export const ZIP64_FIELD = 0x0001;
/** Four-byte size or offset whose value is in the ZIP64 field. */
export const UNSET = 0xffffffff;
const UNIX = 3;
const FOLDER_ATTRIBUTE = 0x10;
/** Set for the name of a DOS volume, which unzip passes over while others make a file of it. */
const LABEL_ATTRIBUTE = 0x08;
/** Newest version of the format; readers skip entries that require a newer one. */
const NEWEST_FORMAT = 63;

export const FLAG_ENCRYPTED = 0x0001;
/** Set where the data is a patch of another file, which hardly any reader applies. */
export const FLAG_PATCHED = 0x0020;
export const FLAG_STRONG_ENCRYPTION = 0x0040;
export const FLAG_MASKED = 0x2000;
export const STORED = 0;
export const DEFLATED = 8;

/** Entry as described by the central directory. */
export interface CentralHeader {
  name: string;
  /** Bytes of the name, which may be overwritten when the next header is read. */
  rawName: Buffer;
  type: "file" | "folder" | "link";
  executable: boolean;
  flags: number;
  method: typeof STORED | typeof DEFLATED;
  crc32: number;
  compressedSize: number;
  uncompressedSize: number;
  /** Offset of the local header, in bytes from the archive's start. */
  localOffset: number;
  /** Length of this header with its name, fields and comment. */
  bytes: number;
}

/**
 * Reads the header at `position` of a central directory that ends at `end`.
 *
 * @throws ArtifactError `zip_invalid`, `member_type`, `member_unsafe` for a name that is missing or not UTF-8
 */
export function readCentralHeader(file: FileWindow, position: number, end: number): CentralHeader {
  const miscounted = "The archive's central directory holds more or less than the entries that it counts.";
  const fixed = end - position < HEADER_BYTES ? undefined : file.read(position, HEADER_BYTES);
  if (fixed?.readUInt32LE(0) !== SIGNATURE) throw malformed(miscounted);
  const nameBytes = fixed.readUInt16LE(28);
  const extraBytes = fixed.readUInt16LE(30);
  const bytes = HEADER_BYTES + nameBytes + extraBytes + fixed.readUInt16LE(32);
  if (position + bytes > end) throw malformed(miscounted);
  const header = file.read(position, HEADER_BYTES + nameBytes + extraBytes);
  if (header.length < HEADER_BYTES + nameBytes + extraBytes)
    throw malformed("The archive is not a proper ZIP: it ends early.");
  const rawName = header.subarray(HEADER_BYTES, HEADER_BYTES + nameBytes);
  const name = decodeName(rawName);
  const sizes = {
    uncompressedSize: header.readUInt32LE(24),
    compressedSize: header.readUInt32LE(20),
    localOffset: header.readUInt32LE(42),
  };
  if (extraBytes > 0) readExtra(header.subarray(HEADER_BYTES + nameBytes), name, rawName, sizes);
  if (header.readUInt16LE(34) !== 0) throw badEntry(name, "lies in another volume");
  const flags = header.readUInt16LE(8);
  if ((flags & (FLAG_ENCRYPTED | FLAG_STRONG_ENCRYPTION | FLAG_MASKED)) !== 0) throw badEntry(name, "is encrypted");
  if ((flags & FLAG_PATCHED) !== 0) throw badEntry(name, "holds a patch in place of a file");
  const needed = header.readUInt8(6);
  if (needed > NEWEST_FORMAT) throw badEntry(name, `needs version ${needed / 10} of the format, which does not exist`);
  const method = header.readUInt16LE(10);
  if (method !== STORED && method !== DEFLATED)
    throw badEntry(name, `uses the compression method ${method}, which is neither stored nor deflated`);
  const attributes = header.readUInt32LE(38);
  const mode = modeOf(header.readUInt8(5), attributes);
  return {
    name,
    rawName,
    type: typeOf(name, mode, attributes, sizes.uncompressedSize),
    executable: (mode & 0o100) !== 0,
    flags,
    method,
    crc32: header.readUInt32LE(16),
    ...sizes,
    bytes,
  };
}

/** Returns the Unix mode of an entry; 0 when the system that made it has none. */
const modeOf = (system: number, attributes: number): number => (system === UNIX ? attributes >>> 16 : 0);

/**
 * Returns the type of an entry that another reader has found.
 *
 * @param attributes external attributes
 * @throws ArtifactError `member_type`, or `zip_invalid` for a contradictory entry
 */
export const typeOfEntry = (
  name: string,
  { versionMadeBy, externalFileAttributes: attributes, uncompressedSize }: EntryFacts,
): CentralHeader["type"] => typeOf(name, modeOf(versionMadeBy >>> 8, attributes), attributes, uncompressedSize);

interface EntryFacts {
  versionMadeBy: number;
  externalFileAttributes: number;
  uncompressedSize: number;
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Decodes a name as UTF-8, whether the archive declares that or not: other encodings would be read differently
 * elsewhere.
 */
function decodeName(raw: Buffer): string {
  try {
    return UTF8.decode(raw);
  } catch {
    throw artifactError(
      "member_unsafe",
      `The archive's entry ${quoted(raw.toString("latin1"))} has a name that is not UTF-8.`,
    );
  }
}

/** Takes eight-byte sizes from the extra fields, and rejects a second name. */
function readExtra(
  extra: Buffer,
  name: string,
  rawName: Buffer,
  sizes: Pick<CentralHeader, "uncompressedSize" | "compressedSize" | "localOffset">,
): void {
  let seen64 = false;
  for (const { id, data } of extraFields(extra, name)) {
    if (id === UNICODE_PATH_FIELD && !data.subarray(5).equals(rawName)) throw badEntry(name, "has two different names");
    if (id !== ZIP64_FIELD) continue;
    if (seen64) throw badEntry(name, "has two ZIP64 fields");
    seen64 = true;
    let at = 0;
    for (const field of ["uncompressedSize", "compressedSize", "localOffset"] as const) {
      if (sizes[field] !== UNSET) continue;
      if (at + 8 > data.length) throw badEntry(name, "has a ZIP64 field that is too short");
      sizes[field] = exactNumber(data, at);
      at += 8;
    }
  }
}

/**
 * Yields the extra fields of a header.
 *
 * @throws ArtifactError `zip_invalid` for one that exceeds its place
 */
export function* extraFields(extra: Buffer, name: string): Generator<{ id: number; data: Buffer }> {
  for (let at = 0; at + 4 <= extra.length;) {
    const length = extra.readUInt16LE(at + 2);
    const data = extra.subarray(at + 4, at + 4 + length);
    if (data.length < length) throw badEntry(name, "has an extra field that is longer than its place");
    yield { id: extra.readUInt16LE(at), data };
    at += 4 + length;
  }
}

/** Returns the type of an entry, on which the name, the Unix mode and the DOS attributes must agree. */
function typeOf(name: string, mode: number, attributes: number, size: number): CentralHeader["type"] {
  const format = mode & 0o170000;
  const named = name.endsWith("/");
  if ((attributes & LABEL_ATTRIBUTE) !== 0) throw badEntry(name, "is the label of a volume");
  if (format === 0o120000) return "link";
  if (format === 0o040000 || (format === 0 && named)) {
    if (!named) throw badEntry(name, "is a folder named as a file");
    if (size !== 0) throw badEntry(name, "is a folder with content");
    return "folder";
  }
  if (format !== 0 && format !== 0o100000)
    throw artifactError("member_type", `The archive's entry ${quoted(name)} is neither a regular file nor a folder.`);
  if (named) throw badEntry(name, "is a file named as a folder");
  if ((attributes & FOLDER_ATTRIBUTE) !== 0) throw badEntry(name, "is a file with the attribute of a folder");
  return "file";
}

/** Returns the error of an archive that is not a proper ZIP because of one entry. */
export const badEntry = (name: string, why: string): SealiftError =>
  malformed(`The archive's entry ${quoted(name)} ${why}.`);
