import { artifactError, type SealiftError } from "../../contract/errors.ts";
import type { FileWindow } from "./file-window.ts";

const END_BYTES = 22;
const END_SIGNATURE = Buffer.from("PK\x05\x06", "latin1");
const COMMENT_MAX_BYTES = 0xffff;
const LOCATOR_BYTES = 20;
const LOCATOR_SIGNATURE = 0x07064b50;
const END64_SIGNATURE = 0x06064b50;
const END64_MIN_BYTES = 56;
/** Bytes of a ZIP64 end record that its own length does not count: signature and length. */
const END64_UNCOUNTED_BYTES = 12;

/** Place and size of the central directory, as given by the archive's end. */
export interface EndRecord {
  entries: number;
  /** Bytes from the archive's start. */
  directoryOffset: number;
  directorySize: number;
}

/**
 * Reads the end of a ZIP, accepting only one that every reader understands alike: one end record whose comment ends the
 * file, at most one ZIP64 record directly before it, no contradiction between the two, and the central directory
 * directly before them.
 *
 * @param size of the file, in bytes
 * @throws ArtifactError `zip_invalid`
 */
export function readEndRecord(file: FileWindow, size: number): EndRecord {
  const start = Math.max(0, size - END_BYTES - COMMENT_MAX_BYTES);
  const tail = file.read(start, size - start);
  const at = soleEndRecord(tail);
  const end = Buffer.from(tail.subarray(at, at + END_BYTES));
  const plain: EndRecord = {
    entries: end.readUInt16LE(10),
    directorySize: end.readUInt32LE(12),
    directoryOffset: end.readUInt32LE(16),
  };
  if (end.readUInt16LE(4) !== 0 || end.readUInt16LE(6) !== 0 || end.readUInt16LE(8) !== plain.entries)
    throw malformed("The archive is not a proper ZIP: it is one volume of several.");
  const position = start + at;
  const end64 = readEnd64(file, position, plain);
  const record = end64?.record ?? plain;
  if (record.directoryOffset + record.directorySize !== (end64?.position ?? position))
    throw malformed("The archive's central directory does not end where its end record says.");
  return record;
}

/**
 * Finds the end record. Some readers take the last signature, others the first one whose comment ends the file: both
 * must find the same.
 */
function soleEndRecord(tail: Buffer): number {
  // Less than a whole record is not an end record.
  const last = tail.length < END_BYTES ? -1 : tail.lastIndexOf(END_SIGNATURE, tail.length - END_BYTES);
  if (last === -1) throw malformed("The archive is not a proper ZIP: it has no end record.");
  const endsFile = (at: number): boolean => at + END_BYTES + tail.readUInt16LE(at + 20) === tail.length;
  if (!endsFile(last)) throw malformed("The archive does not end where its end record says.");
  for (let at = tail.indexOf(END_SIGNATURE); at < last; at = tail.indexOf(END_SIGNATURE, at + 1))
    if (endsFile(at)) throw malformed("The archive has two end records.");
  return last;
}

/** Reads the ZIP64 record before the plain end record at `position`, if there is one. Both must agree. */
function readEnd64(
  file: FileWindow,
  position: number,
  plain: EndRecord,
): { record: EndRecord; position: number } | undefined {
  const locator = position < LOCATOR_BYTES ? undefined : file.read(position - LOCATOR_BYTES, LOCATOR_BYTES);
  if (locator?.readUInt32LE(0) !== LOCATOR_SIGNATURE) return undefined;
  const at = exactNumber(locator, 8);
  if (locator.readUInt32LE(4) !== 0 || locator.readUInt32LE(16) > 1)
    throw malformed("The archive is not a proper ZIP: it is one volume of several.");
  const bytes = position - LOCATOR_BYTES - at;
  const end = bytes < END64_MIN_BYTES ? undefined : file.read(at, END64_MIN_BYTES);
  if (end?.readUInt32LE(0) !== END64_SIGNATURE || exactNumber(end, 4) + END64_UNCOUNTED_BYTES !== bytes)
    throw malformed("The archive's ZIP64 end record is not where its locator says.");
  if (end.readUInt32LE(16) !== 0 || end.readUInt32LE(20) !== 0 || exactNumber(end, 24) !== exactNumber(end, 32))
    throw malformed("The archive is not a proper ZIP: it is one volume of several.");
  const record: EndRecord = {
    entries: exactNumber(end, 32),
    directorySize: exactNumber(end, 40),
    directoryOffset: exactNumber(end, 48),
  };
  const agrees = (short: number, long: number, unset: number): boolean => short === long || short === unset;
  if (
    !agrees(plain.entries, record.entries, 0xffff) ||
    !agrees(plain.directorySize, record.directorySize, 0xffffffff) ||
    !agrees(plain.directoryOffset, record.directoryOffset, 0xffffffff)
  )
    throw malformed("The archive's two end records disagree.");
  return { record, position: at };
}

/** Reads an unsigned eight-byte number exactly. @throws ArtifactError `zip_invalid` beyond 2^53 */
export function exactNumber(bytes: Buffer, offset: number): number {
  const value = Number(bytes.readBigUInt64LE(offset));
  if (Number.isSafeInteger(value)) return value;
  throw malformed("The archive is not a proper ZIP: it names a position or size beyond 2^53.");
}

/** Returns the error of an archive that is not a proper ZIP. */
export const malformed = (message: string): SealiftError =>
  artifactError("zip_invalid", message, { hint: "Nothing was unpacked. Ask the publisher for a proper archive." });
