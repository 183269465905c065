import { readSync } from "node:fs";
import { type FileHandle, open as openFile } from "node:fs/promises";
import { type Entry, open as openZip, type ZipFile } from "yauzl-promise";
import { artifactError, SealiftError } from "../contract/errors.ts";
import { type Limits, RATIO_FREE_BYTES } from "./limits.ts";
import { exceeded, NameRegistry, quoted, safeComponents } from "./safe-path.ts";

const LOCAL_HEADER_BYTES = 30;
const LOCAL_SIGNATURE = 0x04034b50;
const CENTRAL_HEADER_BYTES = 46;
const END64_MIN_BYTES = 56;
const DESCRIPTOR_SIGNATURE = Buffer.from("PK\x07\x08", "latin1");
const DESCRIPTOR_MAX_BYTES = 24;
const FLAG_ENCRYPTED = 0x0001;
const FLAG_DESCRIPTOR = 0x0008;
const FLAG_STRONG_ENCRYPTION = 0x0040;
const FLAG_UTF8 = 0x0800;
const FLAG_MASKED = 0x2000;
const STORED = 0;
const DEFLATED = 8;
const UNIX = 3;
const UNICODE_PATH_FIELD = 0x7075;

/** One regular file of a checked archive. */
export interface ZipMember {
  /** As the archive names it. */
  name: string;
  components: string[];
  executable: boolean;
  method: typeof STORED | typeof DEFLATED;
  compressedSize: number;
  uncompressedSize: number;
  crc32: number;
  /** Where its bytes begin in the archive. */
  dataOffset: number;
}

export interface ZipIndex {
  files: ZipMember[];
  folders: string[][];
  /** Symbolic links that were left out on request. */
  skippedLinks: string[];
  /** The single folder that holds everything, or undefined (agent rule 3: it is flattened). */
  topFolder: string | undefined;
  /** Bytes of all files. */
  bytes: number;
}

export interface ScanOptions {
  limits: Limits;
  /** Source hosts do ship symbolic links: refuse the archive, or leave them out and list them. */
  symlinks: "refuse" | "skip";
}

const malformed = (message: string, cause?: unknown): SealiftError =>
  artifactError("zip_invalid", message, {
    ...(cause !== undefined && { cause }),
    hint: "Nothing was unpacked. Ask the publisher for a proper archive.",
  });

const badEntry = (name: string, why: string): SealiftError => malformed(`The archive's entry ${quoted(name)} ${why}.`);

/**
 * Checks the whole central directory of a ZIP before a byte is unpacked: names, links, duplicates and collisions, methods, encryption, sizes,
 * ratio, overlaps, and that every local header says the same (design, section 3).
 *
 * @throws ArtifactError `zip_invalid`, `member_unsafe`, `member_type`, `member_duplicate`, `limit_exceeded`, naming the entry
 */
export async function scanZip(path: string, { limits, symlinks }: ScanOptions): Promise<ZipIndex> {
  await using file = await openFile(path);
  const { size } = await file.stat();
  const zip = await openArchive(path);
  try {
    const { centralDirectoryOffset: directory, centralDirectorySize } = zip;
    checkDirectory(zip);
    const index: ZipIndex = { files: [], folders: [], skippedLinks: [], topFolder: undefined, bytes: 0 };
    const names = new NameRegistry();
    const extents: Extent[] = [];
    let entries = 0;
    let listed = 0;
    for await (const entry of zip) {
      if (++entries > limits.maxEntries)
        throw exceeded(`The archive has more than ${limits.maxEntries} entries.`, "--max-entries");
      listed += centralBytes(entry);
      const name = decodeName(entry);
      const type = typeOf(entry, name);
      const extent = checkLocalHeader(file, entry, name, directory);
      extents.push(extent);
      const components = safeComponents(name, limits);
      if (type === "link") {
        if (symlinks === "refuse") {
          throw artifactError("member_type", `The archive's entry ${quoted(name)} is a symbolic link.`, {
            hint: "Leave links out with --symlinks skip, if the plugin works without them.",
          });
        }
        // Nothing may stand in its place or below it: elsewhere it would be written through the link.
        names.add(components, "file");
        index.skippedLinks.push(name);
        continue;
      }
      if (type === "file" && components.length === 0)
        throw artifactError(
          "member_unsafe",
          `The archive's entry ${quoted(name)} is a file that is named as the root.`,
        );
      names.add(components, type);
      if (type === "folder") {
        index.folders.push(components);
        continue;
      }
      index.files.push(memberOf(entry, name, components, extent, limits));
      index.bytes += entry.uncompressedSize;
      checkTotals(index.bytes, size, name, limits);
    }
    if (listed !== centralDirectorySize)
      throw malformed("The archive's central directory holds more or less than the entries that it counts.");
    if (index.files.length === 0) throw malformed("The archive holds no file.");
    checkOverlaps(extents);
    index.topFolder = topFolderOf(index);
    return index;
  } catch (error) {
    throw asZipError(error);
  } finally {
    await zip.close();
  }
}

/** What yauzl-promise read from the end records; its types leave it out. Bytes from the archive's start. */
interface Directory {
  centralDirectoryOffset: number;
  centralDirectorySize: number;
  footerOffset: number;
}

async function openArchive(path: string): Promise<ZipFile & Directory> {
  try {
    const options = {
      decodeStrings: false,
      validateFilenames: false,
      // checkLocalHeader does, and names the entry.
      validateEntrySizes: false,
      supportMacArchive: false,
    };
    return (await openZip(path, options)) as ZipFile & Directory;
  } catch (error) {
    throw asZipError(error);
  }
}

/** The directory ends where its end record begins: some readers find it from its end, others from its start. */
function checkDirectory({
  centralDirectoryOffset,
  centralDirectorySize,
  footerOffset,
  isZip64,
}: ZipFile & Directory): void {
  const gap = footerOffset - centralDirectoryOffset - centralDirectorySize;
  if (gap !== 0 && !(isZip64 && gap >= END64_MIN_BYTES))
    throw malformed("The archive's central directory does not end where its end record says.");
}

/** Bytes of an entry's header in the central directory. */
function centralBytes({ filename, extraFields, comment }: Entry): number {
  const extra = extraFields.reduce((total, { data }) => total + 4 + data.length, 0);
  return CENTRAL_HEADER_BYTES + filename.length + extra + comment.length;
}

function asZipError(error: unknown): unknown {
  if (error instanceof SealiftError || !(error instanceof Error)) return error;
  if ((error as NodeJS.ErrnoException).syscall !== undefined) return error;
  return malformed(`The archive is not a proper ZIP: ${error.message.replace(/\.$/, "")}.`, error);
}

/** Names are UTF-8, whether the archive says so or not: any other text would come out differently elsewhere. */
function decodeName(entry: Entry): string {
  const raw = entry.filename as unknown as Buffer;
  let name: string;
  try {
    name = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(raw);
  } catch {
    throw artifactError(
      "member_unsafe",
      `The archive's entry ${quoted(raw.toString("latin1"))} has a name that is not UTF-8.`,
    );
  }
  const unicode = entry.extraFields.find(({ id }) => id === UNICODE_PATH_FIELD);
  if (unicode !== undefined && !unicode.data.subarray(5).equals(raw)) throw badEntry(name, "has two different names");
  return name;
}

function typeOf(entry: Entry, name: string): "file" | "folder" | "link" {
  const { generalPurposeBitFlag: flags, compressionMethod: method } = entry;
  if ((flags & (FLAG_ENCRYPTED | FLAG_STRONG_ENCRYPTION | FLAG_MASKED)) !== 0) throw badEntry(name, "is encrypted");
  if (method !== STORED && method !== DEFLATED)
    throw badEntry(name, `uses the compression method ${method}, which is neither stored nor deflated`);
  const mode = entry.versionMadeBy >> 8 === UNIX ? (entry.externalFileAttributes >>> 16) & 0o170000 : 0;
  const named = name.endsWith("/");
  if (mode === 0o120000) return "link";
  if (mode === 0o040000 || (mode === 0 && named)) {
    if (!named) throw badEntry(name, "is a folder named as a file");
    if (entry.uncompressedSize !== 0) throw badEntry(name, "is a folder with content");
    return "folder";
  }
  if (mode !== 0 && mode !== 0o100000) {
    throw artifactError("member_type", `The archive's entry ${quoted(name)} is neither a regular file nor a folder.`);
  }
  if (named) throw badEntry(name, "is a file named as a folder");
  return "file";
}

interface Extent {
  name: string;
  start: number;
  dataOffset: number;
  end: number;
}

/**
 * The local header must say what the central directory says: readers differ in which one they believe. Read synchronously: for ten thousand
 * entries a promise each takes longer than the disk.
 */
function checkLocalHeader(file: FileHandle, entry: Entry, name: string, directory: number): Extent {
  const lies = (what: string): SealiftError =>
    badEntry(name, `has a local header with another ${what} than the central directory`);
  const start = entry.fileHeaderOffset;
  const header = Buffer.alloc(LOCAL_HEADER_BYTES);
  const bytesRead = readSync(file.fd, header, 0, LOCAL_HEADER_BYTES, start);
  if (bytesRead < LOCAL_HEADER_BYTES || header.readUInt32LE(0) !== LOCAL_SIGNATURE)
    throw badEntry(name, "points to no local header");
  const flags = header.readUInt16LE(6);
  const nameLength = header.readUInt16LE(26);
  const extraLength = header.readUInt16LE(28);
  const rest = Buffer.alloc(nameLength + extraLength);
  readSync(file.fd, rest, 0, rest.length, start + LOCAL_HEADER_BYTES);
  if (!rest.subarray(0, nameLength).equals(entry.filename as unknown as Buffer)) throw lies("name");
  const relevant = FLAG_ENCRYPTED | FLAG_DESCRIPTOR | FLAG_STRONG_ENCRYPTION | FLAG_UTF8 | FLAG_MASKED;
  if (((flags ^ entry.generalPurposeBitFlag) & relevant) !== 0) throw lies("set of flags");
  if (header.readUInt16LE(8) !== entry.compressionMethod) throw lies("compression method");
  const described = (flags & FLAG_DESCRIPTOR) !== 0;
  const sizes = localSizes(header, rest.subarray(nameLength));
  // With a data descriptor the local header may hold zeros; anything else must be right.
  const check = (local: number, central: number, what: string): void => {
    if (local !== central && !(described && local === 0)) throw lies(what);
  };
  check(header.readUInt32LE(14), entry.crc32 >>> 0, "CRC");
  check(sizes.compressed, entry.compressedSize, "compressed size");
  check(sizes.uncompressed, entry.uncompressedSize, "size");
  if (entry.compressionMethod === STORED && entry.compressedSize !== entry.uncompressedSize)
    throw badEntry(name, "is stored with two different sizes");
  const dataOffset = start + LOCAL_HEADER_BYTES + nameLength + extraLength;
  const dataEnd = dataOffset + entry.compressedSize;
  const end = described ? dataEnd + descriptorBytes(file, entry, name, dataEnd) : dataEnd;
  if (end > directory) throw badEntry(name, "reaches into the central directory");
  return { name, start, dataOffset, end };
}

/** Length of the data descriptor behind an entry, which has four forms: with and without its signature, with sizes of 4 and of 8 bytes. */
function descriptorBytes(file: FileHandle, entry: Entry, name: string, at: number): number {
  const read = Buffer.alloc(DESCRIPTOR_MAX_BYTES);
  const bytesRead = readSync(file.fd, read, 0, DESCRIPTOR_MAX_BYTES, at);
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
      if (form.length <= bytesRead && read.subarray(0, form.length).equals(form)) return form.length;
  }
  throw badEntry(name, "has a data descriptor that says something else than the central directory");
}

/** Sizes of a local header, from its ZIP64 field where it has one. */
function localSizes(header: Buffer, extra: Buffer): { compressed: number; uncompressed: number } {
  let compressed = header.readUInt32LE(18);
  let uncompressed = header.readUInt32LE(22);
  if (compressed !== 0xffffffff && uncompressed !== 0xffffffff) return { compressed, uncompressed };
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

function memberOf(entry: Entry, name: string, components: string[], extent: Extent, limits: Limits): ZipMember {
  if (entry.uncompressedSize > limits.maxEntryBytes) {
    throw exceeded(
      `The archive's entry ${quoted(name)} is larger than ${limits.maxEntryBytes} bytes.`,
      "--max-entry-size",
    );
  }
  const isUnix = entry.versionMadeBy >> 8 === UNIX;
  return {
    name,
    components,
    executable: isUnix && ((entry.externalFileAttributes >>> 16) & 0o100) !== 0,
    method: entry.compressionMethod as ZipMember["method"],
    compressedSize: entry.compressedSize,
    uncompressedSize: entry.uncompressedSize,
    crc32: entry.crc32 >>> 0,
    dataOffset: extent.dataOffset,
  };
}

function checkTotals(bytes: number, archiveSize: number, name: string, limits: Limits): void {
  const where = `reached at the entry ${quoted(name)}`;
  if (bytes > limits.maxTotalBytes) {
    throw exceeded(
      `The archive's files are larger than ${limits.maxTotalBytes} bytes together, ${where}.`,
      "--max-total-size",
    );
  }
  if (bytes > RATIO_FREE_BYTES && bytes > archiveSize * limits.maxRatio) {
    throw exceeded(`The archive unpacks to more than ${limits.maxRatio} times its size, ${where}.`, "--max-ratio");
  }
}

/** Entries that share bytes make small archives large, and mean different things to different readers. */
function checkOverlaps(extents: Extent[]): void {
  const sorted = extents.toSorted((a, b) => a.start - b.start);
  for (let index = 1; index < sorted.length; index++) {
    const before = sorted[index - 1]!;
    const after = sorted[index]!;
    if (after.start < before.end) throw badEntry(after.name, `overlaps the entry ${quoted(before.name)}`);
  }
}

/** The folder that holds every entry, when there is exactly one and no file beside it. */
function topFolderOf({ files, folders }: ZipIndex): string | undefined {
  const [top] = files[0]!.components;
  const below = files.every(({ components }) => components.length > 1 && components[0] === top);
  return below && folders.every(([first]) => first === top) ? top : undefined;
}
