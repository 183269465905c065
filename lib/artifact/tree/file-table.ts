import type { FileEntry } from "./tree-index.ts";
import type { FileList } from "./tree-listing.ts";

/** Columns of a {@link FileTable}: an item for each file, 32 bytes of `sha256`; names follow each other. */
export interface FileColumns {
  size: Float64Array;
  mtimeMs: Float64Array;
  executable: Uint8Array;
  sha256: Uint8Array;
  nameEnd: Float64Array;
  names: Uint8Array;
}

/** A file that is on the disk. */
export interface Written {
  /** Of its bytes. */
  sha256: Uint8Array;
  /** In milliseconds. */
  mtimeMs?: number;
}

const SHA256_BYTES = 32;
const SLASH = 0x2f;

const float64 = (length: number) => new Float64Array(new SharedArrayBuffer(length * 8));
const bytes = (length: number) => new Uint8Array(new SharedArrayBuffer(length));

/**
 * Files with their digests, as columns in memory that threads share. As objects, 200,000 of them would take 100 MB, and
 * again as much in another thread.
 */
export class FileTable implements FileList {
  readonly columns: FileColumns;
  #length: number;
  readonly #names: Buffer;
  readonly #sha256: Buffer;
  readonly #cut: number;
  /** Indices in the order of the paths; undefined while nobody has searched, or where that is their own order. */
  #order: Uint32Array | undefined;
  #isOrdered = false;
  /** The place in the order behind the file that was found last. */
  #next = 0;

  /**
   * @param length of a table that another thread has filled
   * @param cut bytes that are left away at the start of each path
   */
  constructor(columns: FileColumns, length = 0, cut = 0) {
    this.columns = columns;
    this.#length = length;
    this.#names = Buffer.from(columns.names.buffer);
    this.#sha256 = Buffer.from(columns.sha256.buffer);
    this.#cut = cut;
  }

  /**
   * Makes an empty table. Pages that nothing is written to cost no memory.
   *
   * @param files at most
   * @param nameBytes of all names together, at most
   */
  static empty(files: number, nameBytes: number): FileTable {
    return new FileTable({
      size: float64(files),
      mtimeMs: float64(files),
      executable: bytes(files),
      sha256: bytes(files * SHA256_BYTES),
      nameEnd: float64(files),
      names: bytes(nameBytes),
    });
  }

  static of(files: readonly FileEntry[]): FileTable {
    const table = FileTable.empty(
      files.length,
      files.reduce((sum, { path }) => sum + Buffer.byteLength(path), 0),
    );
    for (const file of files) {
      const index = table.push(file);
      table.#sha256.write(file.sha256, index * SHA256_BYTES, "hex");
      table.columns.mtimeMs[index] = file.mtimeMs ?? Number.NaN;
    }
    return table;
  }

  get length(): number {
    return this.#length;
  }

  /** @returns the index of the new file, whose bytes are not written yet */
  push({ path, executable, size }: Pick<FileEntry, "path" | "executable" | "size">): number {
    const { columns } = this;
    const index = this.#length++;
    columns.size[index] = size;
    columns.executable[index] = executable ? 1 : 0;
    const start = this.#nameStart(index);
    columns.nameEnd[index] = start + this.#names.write(path, start);
    return index;
  }

  /** Notes that a file was written to disk. */
  wrote(index: number, { sha256, mtimeMs = Number.NaN }: Written): void {
    this.columns.sha256.set(sha256, index * SHA256_BYTES);
    this.columns.mtimeMs[index] = mtimeMs;
  }

  #nameStart(index: number): number {
    return index === 0 ? 0 : this.columns.nameEnd[index - 1]!;
  }

  pathAt(index: number): string {
    return this.#names.toString("utf8", this.#nameStart(index) + this.#cut, this.columns.nameEnd[index]);
  }

  isExecutable(index: number): boolean {
    return this.columns.executable[index] === 1;
  }

  /** A file that was written, as an object that is made now. */
  at(index: number): FileEntry {
    const file: FileEntry = {
      type: "file",
      path: this.pathAt(index),
      executable: this.isExecutable(index),
      size: this.columns.size[index]!,
      sha256: this.#sha256.toString("hex", index * SHA256_BYTES, (index + 1) * SHA256_BYTES),
    };
    const mtimeMs = this.columns.mtimeMs[index]!;
    if (!Number.isNaN(mtimeMs)) file.mtimeMs = mtimeMs;
    return file;
  }

  *[Symbol.iterator](): Generator<FileEntry> {
    for (let index = 0; index < this.#length; index++) yield this.at(index);
  }

  /** Finds a file by its path, at once where it follows the one that was found last. The table is full by then. */
  find(path: string): FileEntry | undefined {
    this.#sort();
    const following = this.#foundAt(this.#next, path);
    if (following !== undefined) return following;
    const wanted = Buffer.from(path);
    let low = 0;
    let high = this.#length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#compare(this.#at(middle), wanted, 0, wanted.length) < 0) low = middle + 1;
      else high = middle;
    }
    return this.#foundAt(low, path);
  }

  #foundAt(place: number, path: string): FileEntry | undefined {
    if (place === this.#length) return undefined;
    const file = this.at(this.#at(place));
    if (file.path !== path) return undefined;
    this.#next = place + 1;
    return file;
  }

  /** The index at a place in the order of the paths. */
  #at(place: number): number {
    return this.#order === undefined ? place : this.#order[place]!;
  }

  #sort(): void {
    if (this.#isOrdered) return;
    this.#isOrdered = true;
    let index = 1;
    while (index < this.#length && this.#compareFiles(index - 1, index) < 0) index++;
    if (index >= this.#length) return;
    this.#order = Uint32Array.from({ length: this.#length }, (_, place) => place);
    this.#order.sort((a, b) => this.#compareFiles(a, b));
  }

  #compareFiles(index: number, other: number): number {
    return this.#compare(index, this.#names, this.#nameStart(other) + this.#cut, this.columns.nameEnd[other]!);
  }

  /** Compares a file's path with the one between two places as `comparePaths` does, without making strings of them. */
  #compare(index: number, other: Buffer, otherStart: number, otherEnd: number): number {
    const start = this.#nameStart(index) + this.#cut;
    const length = this.columns.nameEnd[index]! - start;
    const otherLength = otherEnd - otherStart;
    const common = Math.min(length, otherLength);
    for (let i = 0; i < common; i++) {
      const x = this.#names[start + i]!;
      const y = other[otherStart + i]!;
      if (x === y) continue;
      // A component that ends here comes before one that goes on.
      if (x === SLASH) return -1;
      if (y === SLASH) return 1;
      return x - y;
    }
    return length - otherLength;
  }
}
