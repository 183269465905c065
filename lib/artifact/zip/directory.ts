import { open as openFile } from "node:fs/promises";
import { type Entry, fromReader, Reader, type ZipFile } from "yauzl-promise";
import { artifactError, SealiftError } from "../../contract/errors.ts";
import { paceBuffers } from "../../support/buffer-pacing.ts";
import { type Limits, RATIO_FREE_BYTES } from "../limits.ts";
import { exceeded, NameRegistry, quoted, safeComponents } from "../tree/safe-path.ts";
import { FileWindow } from "./file-window.ts";
import {
  badEntry,
  checkLocalHeader,
  type Extent,
  FLAG_ENCRYPTED,
  FLAG_MASKED,
  FLAG_STRONG_ENCRYPTION,
  malformed,
  STORED,
} from "./local-header.ts";

const CENTRAL_HEADER_BYTES = 46;
const END64_MIN_BYTES = 56;
const DEFLATED = 8;
const UNIX = 3;
const UNICODE_PATH_FIELD = 0x7075;
/** Bytes of buffers, promises and records that reading an entry leaves, generously. */
const GARBAGE_PER_ENTRY = 16 * 1024;

/** One regular file of a checked archive. */
export interface ZipMember {
  /** As the archive names it, of components that `safe-path.ts` has let through. */
  path: string;
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
  /** Every folder, those that only files imply included, each behind the one that it lies in. */
  folders: string[];
  /** Symbolic links that were left out on request. */
  skippedLinks: string[];
  /** The single folder that holds everything, or undefined (docs/contract/agent.md, rule 3: it is flattened). */
  topFolder: string | undefined;
  /** Bytes of all files. */
  bytes: number;
}

export interface ScanOptions {
  limits: Limits;
  /** Source hosts do ship symbolic links: refuse the archive, or leave them out and list them. */
  symlinks: "refuse" | "skip";
}

/**
 * Checks the whole central directory of a ZIP before a byte is unpacked: names, links, duplicates and collisions, methods, encryption, sizes,
 * ratio, overlaps, and that every local header says the same (docs/architecture.md).
 *
 * @throws ArtifactError `zip_invalid`, `member_unsafe`, `member_type`, `member_duplicate`, `limit_exceeded`, naming the entry
 */
export async function scanZip(path: string, { limits, symlinks }: ScanOptions): Promise<ZipIndex> {
  await using file = await openFile(path);
  const { size } = await file.stat();
  const zip = await openArchive(file.fd, size);
  const window = new FileWindow(file.fd);
  try {
    const { centralDirectoryOffset: directory, centralDirectorySize } = zip;
    checkDirectory(zip);
    const index: ZipIndex = { files: [], folders: [], skippedLinks: [], topFolder: undefined, bytes: 0 };
    const names = new NameRegistry();
    const folders = new Set<string>();
    const extents: Extent[] = [];
    let entries = 0;
    let listed = 0;
    const pace = paceBuffers({ fullEvery: Infinity });
    for await (const entry of zip) {
      if (++entries > limits.maxEntries)
        throw exceeded(`The archive has more than ${limits.maxEntries} entries.`, "--max-entries");
      listed += centralBytes(entry);
      pace(GARBAGE_PER_ENTRY);
      const name = decodeName(entry);
      const type = typeOf(entry, name);
      const extent = checkLocalHeader(window, entry, name, directory);
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
      const path = names.add(components, type);
      addFolder(folders, type === "folder" ? path : parentOf(path));
      if (type === "folder") continue;
      index.files.push(memberOf(entry, path, extent, limits));
      index.bytes += entry.uncompressedSize;
      checkTotals(index.bytes, size, name, limits);
    }
    if (listed !== centralDirectorySize)
      throw malformed("The archive's central directory holds more or less than the entries that it counts.");
    if (index.files.length === 0) throw malformed("The archive holds no file.");
    checkOverlaps(extents);
    index.folders = [...folders];
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

/** Gives yauzl-promise its bytes from memory: one call of the system for each entry took ten times as long as the rest of the scan. */
class WindowReader extends Reader {
  readonly #window: FileWindow;

  constructor(descriptor: number) {
    super();
    this.#window = new FileWindow(descriptor);
  }

  override async _read(start: number, length: number): Promise<Buffer> {
    const bytes = this.#window.read(start, length);
    if (bytes.length < length) throw new Error("Unexpected end of file");
    return Buffer.from(bytes);
  }
}

async function openArchive(descriptor: number, size: number): Promise<ZipFile & Directory> {
  // Its own words for a file that is too short: a reader must not be empty.
  if (size === 0) throw malformed("The archive is not a proper ZIP: End of Central Directory Record not found.");
  try {
    const options = {
      decodeStrings: false,
      validateFilenames: false,
      // checkLocalHeader does, and names the entry.
      validateEntrySizes: false,
      supportMacArchive: false,
    };
    return (await fromReader(new WindowReader(descriptor), size, options)) as ZipFile & Directory;
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

const parentOf = (path: string): string => path.slice(0, Math.max(path.lastIndexOf("/"), 0));

/** Adds a folder behind those that it lies in. */
function addFolder(folders: Set<string>, path: string): void {
  if (path === "" || folders.has(path)) return;
  addFolder(folders, parentOf(path));
  folders.add(path);
}

function memberOf(entry: Entry, path: string, extent: Extent, limits: Limits): ZipMember {
  if (entry.uncompressedSize > limits.maxEntryBytes) {
    throw exceeded(
      `The archive's entry ${quoted(path)} is larger than ${limits.maxEntryBytes} bytes.`,
      "--max-entry-size",
    );
  }
  const isUnix = entry.versionMadeBy >> 8 === UNIX;
  return {
    path,
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
  const top = files[0]!.path.split("/", 1)[0]!;
  const prefix = `${top}/`;
  const below = (path: string): boolean => path.startsWith(prefix);
  return files.every(({ path }) => below(path)) && folders.every((path) => path === top || below(path))
    ? top
    : undefined;
}
