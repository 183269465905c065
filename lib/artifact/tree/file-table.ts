import type { ChunkList } from "./chunks.ts";
import { bytes, ColumnTable, numbers, type PathColumns, paths } from "./columns.ts";
import { LineDigest, SHA256_BYTES } from "./line-digest.ts";

/** Regular file of a tree. */
export interface FileEntry {
  type: "file";
  /** POSIX path relative to the tree's root. */
  path: string;
  executable: boolean;
  /** Size in bytes. */
  size: number;
  /** SHA-256 of the file, lower-case hex. */
  sha256: string;
  /** Chunks of a large file. */
  chunks?: ChunkList;
  /** Modification time of a file that was unpacked just now, in milliseconds. */
  mtimeMs?: number;
}

/** Facts of a file once it is on the disk. */
export interface Written {
  /** SHA-256 of the file's bytes. */
  sha256: Uint8Array;
  /** Modification time, in milliseconds since 1970. */
  mtimeMs?: number;
}

/** Facts of files, one item each; `sha256` has 32 bytes per file. */
interface FileFacts {
  size: Float64Array;
  mtimeMs: Float64Array;
  executable: Uint8Array;
  sha256: Uint8Array;
}

/** Table sent between threads; only {@link FileTable.received} reads it. */
export interface SentFiles {
  columns: FileFacts & PathColumns;
  length: number;
  cut: number;
}

/**
 * Files with their digests. Code that fills a table refers to a file by its index, in the order of adding; other code
 * finds it by path, or iterates.
 */
export class FileTable extends ColumnTable<FileFacts> implements Iterable<FileEntry> {
  private constructor(columns: FileFacts & PathColumns, length?: number, cut?: number) {
    super(columns, length, cut);
  }

  /**
   * Makes an empty table.
   *
   * @param files that there is room for
   * @param nameBytes of all names together that there is room for
   */
  static empty(files?: number, nameBytes?: number): FileTable {
    return new FileTable({
      size: numbers(files),
      mtimeMs: numbers(files),
      executable: bytes(files),
      sha256: bytes(files, SHA256_BYTES),
      ...paths(files, nameBytes),
    });
  }

  static of(files: Iterable<FileEntry>): FileTable {
    const table = FileTable.empty();
    for (const file of files) table.add(file);
    return table;
  }

  /** Receives the table that another thread has {@link sent}. */
  static received({ columns, length, cut }: SentFiles): FileTable {
    return new FileTable(columns, length, cut);
  }

  /** Returns the table in a form for another thread. Copies nothing. */
  sent(): SentFiles {
    return { columns: { ...this.columns }, length: this.length, cut: this.cut };
  }

  /** Returns these files with paths relative to a folder that contains all of them. Copies nothing. */
  below(folder: string): FileTable {
    return new FileTable(this.columns, this.length, this.cut + Buffer.byteLength(folder) + 1);
  }

  get #sha256(): Buffer {
    return this.columns.sha256 as Buffer;
  }

  /** Adds a file whose bytes are not written yet. @returns its index */
  push({ path, executable, size }: Pick<FileEntry, "path" | "executable" | "size">): number {
    const index = this.append(path);
    this.columns.size[index] = size;
    this.columns.executable[index] = executable ? 1 : 0;
    return index;
  }

  /** Adds a file whose bytes are known. @returns its index */
  add(file: Omit<FileEntry, "type" | "chunks">): number {
    const index = this.push(file);
    this.#sha256.write(file.sha256, index * SHA256_BYTES, "hex");
    this.columns.mtimeMs[index] = file.mtimeMs ?? Number.NaN;
    return index;
  }

  /** Records that a file was written to disk. */
  wrote(index: number, { sha256, mtimeMs = Number.NaN }: Written): void {
    this.columns.sha256.set(sha256, index * SHA256_BYTES);
    this.columns.mtimeMs[index] = mtimeMs;
  }

  /** Records that a file has the bytes of a file of another table. */
  wroteCopy(index: number, of: FileTable, file: number): void {
    of.#sha256.copy(this.#sha256, index * SHA256_BYTES, file * SHA256_BYTES, (file + 1) * SHA256_BYTES);
    this.columns.mtimeMs[index] = Number.NaN;
  }

  /** Records when a file was written, in milliseconds. */
  setTime(index: number, mtimeMs: number): void {
    this.columns.mtimeMs[index] = mtimeMs;
  }

  /** Returns the SHA-256 of a file, lower-case hex. */
  sha256At(index: number): string {
    return this.#sha256.toString("hex", index * SHA256_BYTES, (index + 1) * SHA256_BYTES);
  }

  sizeAt(index: number): number {
    return this.columns.size[index]!;
  }

  isExecutable(index: number): boolean {
    return this.columns.executable[index] === 1;
  }

  /** Returns a written file, as a new object. */
  at(index: number): FileEntry {
    const file: FileEntry = {
      type: "file",
      path: this.pathAt(index),
      executable: this.isExecutable(index),
      size: this.sizeAt(index),
      sha256: this.sha256At(index),
    };
    const mtimeMs = this.columns.mtimeMs[index]!;
    if (!Number.isNaN(mtimeMs)) file.mtimeMs = mtimeMs;
    return file;
  }

  *[Symbol.iterator](): Generator<FileEntry> {
    for (let index = 0; index < this.length; index++) yield this.at(index);
  }

  /** Finds a file by its path, at once if it follows the one that was found last. */
  find(path: string): FileEntry | undefined {
    const index = this.indexOf(path);
    return index === undefined ? undefined : this.at(index);
  }

  /** Returns the digest of the tree, lower-case hex (docs/contract/project-artifact.md#tree-digest). */
  digest(): string {
    const digest = new LineDigest();
    for (const index of this.inOrder()) this.#addTo(digest, index, 0);
    return digest.end();
  }

  /** Returns the digest of one folder, with paths relative to it; undefined when it holds no file. */
  digestOfFolder(folder: string): string | undefined {
    const digest = new LineDigest();
    const prefix = Buffer.byteLength(folder) + 1;
    let isEmpty = true;
    for (const index of this.within(folder)) {
      isEmpty = false;
      this.#addTo(digest, index, prefix);
    }
    return isEmpty ? undefined : digest.end();
  }

  /** @param cut bytes omitted at the start of the path */
  #addTo(digest: LineDigest, index: number, cut: number): void {
    const [start, end] = this.nameRange(index);
    digest.add(this.columns.names as Buffer, [start + cut, end], this.#sha256, index * SHA256_BYTES);
  }
}
