import { open as openFile } from "node:fs/promises";
import { artifactError } from "../../contract/errors.ts";
import { type Limits, RATIO_FREE_BYTES } from "../limits.ts";
import { NameRegistry } from "../tree/name-registry.ts";
import { exceeded, quoted, safePath } from "../tree/safe-path.ts";
import { badEntry, type CentralHeader, readCentralHeader } from "./central-header.ts";
import { malformed, readEndRecord } from "./end-record.ts";
import { FileWindow } from "./file-window.ts";
import { checkLocalHeader, type Extent, localName } from "./local-header.ts";
import { MemberTable, type ZipMember } from "./member-table.ts";
import { TopFolder } from "./top-folder.ts";

/** Bytes of the central directory read at a time. */
const DIRECTORY_WINDOW_BYTES = 256 * 1024;

export interface ZipIndex {
  files: MemberTable;
  /** Every folder, including those only implied by files, each after its parent. */
  folders: string[];
  /** Symbolic links that were left out on request. */
  skippedLinks: string[];
  /** Single folder that holds everything, or undefined (docs/contract/agent.md, rule 3: it is flattened). */
  topFolder: string | undefined;
  /** Total size of all files, in bytes. */
  bytes: number;
}

export interface ScanOptions {
  limits: Limits;
  /** Treatment of symbolic links, which source hosts ship: reject the archive, or leave them out and list them. */
  symlinks: "refuse" | "skip";
}

/**
 * Checks the whole central directory of a ZIP before a byte is unpacked: names, links, duplicates and collisions,
 * methods, encryption, sizes, ratio, overlaps, and that every local header agrees (docs/architecture.md). One
 * synchronous sweep over the directory: a promise for each of many entries takes longer than the disk.
 *
 * @throws ArtifactError `zip_invalid`, `member_unsafe`, `member_type`, `member_duplicate`, `limit_exceeded`, naming
 *   the entry
 */
export async function scanZip(path: string, { limits, symlinks }: ScanOptions): Promise<ZipIndex> {
  await using file = await openFile(path);
  const { size } = await file.stat();
  const central = new FileWindow(file.fd, DIRECTORY_WINDOW_BYTES);
  const local = new FileWindow(file.fd);
  const { entries, directoryOffset, directorySize } = readEndRecord(central, size);
  const end = directoryOffset + directorySize;
  if (entries > limits.maxEntries)
    throw exceeded(`The archive has more than ${limits.maxEntries} entries.`, "--max-entries");
  const files = new MemberTable(entries, directorySize);
  const index: ZipIndex = { files, folders: [], skippedLinks: [], topFolder: undefined, bytes: 0 };
  const names = new NameRegistry();
  const top = new TopFolder();
  const folders = new Set<string>();
  const overlaps = new OverlapCheck(entries);
  let position = directoryOffset;
  for (let count = 0; count < entries; count++) {
    const entry = readCentralHeader(central, position, end);
    position += entry.bytes;
    const { name, type } = entry;
    const extent = checkLocalHeader(local, entry, directoryOffset);
    overlaps.add(extent);
    const path = safePath(name, limits);
    if (type === "link") {
      if (symlinks === "refuse") {
        throw artifactError("member_type", `The archive's entry ${quoted(name)} is a symbolic link.`, {
          hint: "Leave links out with --symlinks skip, if the plugin works without them.",
        });
      }
      // Nothing may have its path or one below it: other readers would write through the link.
      names.add(path, "file");
      index.skippedLinks.push(name);
      continue;
    }
    if (type === "file" && path === "")
      throw artifactError("member_unsafe", `The archive's entry ${quoted(name)} is a file that is named as the root.`);
    names.add(path, type);
    top.add(path, type);
    addFolder(folders, type === "folder" ? path : parentOf(path));
    if (type === "folder") continue;
    files.push(memberOf(entry, path, extent, limits));
    index.bytes += entry.uncompressedSize;
    checkTotals(index.bytes, size, name, limits);
  }
  if (position !== end)
    throw malformed("The archive's central directory holds more or less than the entries that it counts.");
  if (files.length === 0) throw malformed("The archive holds no file.");
  overlaps.check(local);
  index.folders = [...folders];
  index.topFolder = top.name;
  return index;
}

const parentOf = (path: string): string => path.slice(0, Math.max(path.lastIndexOf("/"), 0));

/** Adds a folder after its ancestors. */
function addFolder(folders: Set<string>, path: string): void {
  if (path === "" || folders.has(path)) return;
  addFolder(folders, parentOf(path));
  folders.add(path);
}

function memberOf(entry: CentralHeader, path: string, extent: Extent, limits: Limits): ZipMember {
  if (entry.uncompressedSize > limits.maxEntryBytes) {
    throw exceeded(
      `The archive's entry ${quoted(path)} is larger than ${limits.maxEntryBytes} bytes.`,
      "--max-entry-size",
    );
  }
  const { executable, method, compressedSize, uncompressedSize, crc32 } = entry;
  return { path, executable, method, compressedSize, uncompressedSize, crc32, dataOffset: extent.dataOffset };
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

/** Rejects entries that share bytes: they inflate small archives, and readers disagree about them. */
class OverlapCheck {
  readonly #starts: Float64Array;
  readonly #ends: Float64Array;
  #length = 0;
  #inOrder = true;

  /** @param entries most entries */
  constructor(entries: number) {
    this.#starts = new Float64Array(entries);
    this.#ends = new Float64Array(entries);
  }

  add({ start, end }: Extent): void {
    const index = this.#length++;
    this.#inOrder &&= index === 0 || start >= this.#ends[index - 1]!;
    this.#starts[index] = start;
    this.#ends[index] = end;
  }

  /** Checks the entries added. @throws ArtifactError `zip_invalid` */
  check(window: FileWindow): void {
    if (this.#inOrder) return;
    const order = Uint32Array.from({ length: this.#length }, (_, index) => index);
    order.sort((a, b) => this.#starts[a]! - this.#starts[b]!);
    for (let index = 1; index < order.length; index++) {
      const before = order[index - 1]!;
      const start = this.#starts[order[index]!]!;
      if (start >= this.#ends[before]!) continue;
      const name = localName(window, start);
      throw badEntry(name, `overlaps the entry ${quoted(localName(window, this.#starts[before]!))}`);
    }
  }
}
