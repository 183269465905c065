import { createHash, type Hash, hash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { artifactError, type SealiftError } from "../../contract/errors.ts";
import type { Limits } from "../limits.ts";
import { comparePaths } from "./compare-paths.ts";
import { FileTable } from "./file-table.ts";
import { NameRegistry } from "./name-registry.ts";
import { NewFile, writeNewFile } from "./new-file.ts";
import { exceeded, quoted, SafeNames } from "./safe-path.ts";

const EMPTY = new Uint8Array(0);

/** File of the tree, about to be written. */
interface ClaimedFile {
  /** Index in {@link TreeWriter.files}. */
  index: number;
  /** Path of the file on disk. */
  target: string;
}

interface OpenFile extends ClaimedFile {
  path: string;
  executable: boolean;
  size: number;
  received: number;
  /** SHA-256 of a file that was written in one piece, or is empty. */
  digest?: Buffer;
  /** Modification time, in milliseconds; set with `digest`. */
  mtimeMs?: number;
  /** Set while a file arrives in pieces. */
  stream?: { file: NewFile; hash: Hash };
}

/**
 * Writes the members of one tar below an empty, private staging folder, and keeps the digest of each file. Every name
 * passes {@link SafeNames} and {@link NameRegistry}; limits apply to what really arrives. Writes synchronously: for
 * many small files a stream or a promise each costs more than the file, and this runs on a worker thread. A file that
 * arrives in one piece is written with one call.
 */
export class TreeWriter {
  readonly files = FileTable.empty();
  entries = 0;
  bytes = 0;
  readonly #root: string | undefined;
  readonly #limits: Limits;
  readonly #safe: SafeNames;
  readonly #names = new NameRegistry();
  readonly #folders = new Set<string>();
  /** Folders that contain a file. */
  readonly #filled = new Set<string>();
  /** Folder of the last file: files of one folder follow each other. */
  #lastFolder = "";
  #file: OpenFile | undefined;

  /** @param root undefined for a tree that is only planned: names and limits are checked, and nothing is written */
  constructor(root: string | undefined, limits: Limits) {
    this.#root = root;
    this.#limits = limits;
    this.#safe = new SafeNames(limits);
  }

  /** Adds a folder. @throws ArtifactError for an unsafe, duplicate or excessive member */
  folder(name: string): void {
    this.#countEntry();
    const path = this.#safe.path(name);
    this.#names.add(path, "folder");
    this.#makeFolder(path);
  }

  /**
   * Starts a file; `write` takes its bytes and `endFile` closes it.
   *
   * @param size declared bytes: a file of any other length is an error
   */
  beginFile(name: string, size: number, executable: boolean): void {
    this.#file = { ...this.#claim(name, size, executable), executable, size, received: 0 };
  }

  /**
   * Claims the name of a file of a tree that is only planned. The caller records its digest in {@link files}.
   *
   * @returns its index in {@link files}
   */
  claim(name: string, size: number, executable: boolean): number {
    const { index } = this.#claim(name, size, executable);
    this.bytes += size;
    return index;
  }

  /** Lists the empty folders, in canonical order. */
  emptyFolders(): string[] {
    const occupied = new Set(this.#filled);
    for (const path of this.#folders) {
      const slash = path.lastIndexOf("/");
      if (slash > 0) occupied.add(path.slice(0, slash));
    }
    return [...this.#folders].filter((path) => !occupied.has(path)).toSorted(comparePaths);
  }

  #claim(name: string, size: number, executable: boolean): ClaimedFile & { path: string } {
    this.#countEntry();
    const path = this.#safe.path(name);
    if (path === "") throw artifactError("member_unsafe", "The archive's root is a file.");
    if (name.endsWith("/"))
      throw artifactError("member_unsafe", `The archive's file ${quoted(name)} is named as a folder.`);
    if (size > this.#limits.maxEntryBytes) throw this.#entryTooLarge(name);
    if (this.bytes + size > this.#limits.maxTotalBytes) throw this.#totalTooLarge();
    this.#names.add(path, "file");
    const index = this.files.push({ path, executable, size });
    const slash = path.lastIndexOf("/");
    if (slash > 0) this.#fillFolder(path.slice(0, slash));
    return { index, path, target: `${this.#root}/${path}` };
  }

  /** Takes the file's next bytes, which may be overwritten when this returns. */
  write(chunk: Uint8Array): void {
    const file = this.#file!;
    file.received += chunk.length;
    this.bytes += chunk.length;
    if (file.received > file.size) throw malformed(file.path, "is longer than it says");
    if (this.bytes > this.#limits.maxTotalBytes) throw this.#totalTooLarge();
    if (chunk.length === file.size) {
      this.#writeWhole(file, chunk);
      return;
    }
    file.stream ??= { file: new NewFile(file.target, file.executable), hash: createHash("sha256") };
    file.stream.hash.update(chunk);
    file.stream.file.write(chunk);
  }

  endFile(): void {
    const file = this.#file!;
    if (file.received !== file.size) throw malformed(file.path, "is shorter than it says");
    if (file.size === 0) this.#writeWhole(file, EMPTY);
    file.stream?.file[Symbol.dispose]();
    const { index, digest, stream, mtimeMs } = file;
    this.files.wrote(index, { sha256: digest ?? stream!.hash.digest(), ...(mtimeMs !== undefined && { mtimeMs }) });
    this.#file = undefined;
  }

  #writeWhole(file: OpenFile, content: Uint8Array): void {
    file.mtimeMs = writeNewFile(file.target, content, file.executable);
    file.digest = hash("sha256", content, "buffer");
  }

  /** Ends the tree, and closes a file left open by an error; the caller removes the staging folder itself. */
  close(): void {
    this.#file?.stream?.file[Symbol.dispose]();
    this.#file = undefined;
  }

  #fillFolder(path: string): void {
    if (path === this.#lastFolder) return;
    this.#lastFolder = path;
    this.#filled.add(path);
    this.#makeFolder(path);
  }

  #makeFolder(path: string): void {
    if (path === "" || this.#folders.has(path)) return;
    if (this.#root !== undefined) mkdirSync(join(this.#root, path), { recursive: true, mode: 0o755 });
    this.#folders.add(path);
  }

  #countEntry(): void {
    this.entries++;
    if (this.entries > this.#limits.maxEntries) {
      throw exceeded(`The archive has more than ${this.#limits.maxEntries} members.`, "--max-entries");
    }
  }

  #entryTooLarge(name: string): SealiftError {
    return exceeded(
      `The member ${quoted(name)} is larger than ${this.#limits.maxEntryBytes} bytes.`,
      "--max-entry-size",
    );
  }

  #totalTooLarge(): SealiftError {
    return exceeded(
      `The archive's files are larger than ${this.#limits.maxTotalBytes} bytes together.`,
      "--max-total-size",
    );
  }
}

const malformed = (path: string, why: string): SealiftError =>
  artifactError("tar_invalid", `The archive's member ${quoted(path)} ${why}.`);
