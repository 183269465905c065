import { emptyColumns, type FileColumns, growFiles, growNames, SHA256_BYTES } from "./file-columns.ts";
import { LineDigest } from "./line-digest.ts";
import type { FileEntry } from "./tree-index.ts";

/** A file that is on the disk. */
export interface Written {
  /** Of its bytes. */
  sha256: Uint8Array;
  /** In milliseconds. */
  mtimeMs?: number;
}

const SLASH = 0x2f;
/** Bytes that a unit of a string takes as UTF-8, at most. */
const BYTES_PER_UNIT = 3;

/**
 * Files with their digests, as columns in memory that threads share. As objects, 200,000 of them would take 100 MB, and
 * again as much in another thread.
 */
export class FileTable implements Iterable<FileEntry> {
  readonly #columns: FileColumns;
  #length: number;
  #names: Buffer;
  #sha256: Buffer;
  readonly #cut: number;
  /** Indices in the order of the paths; undefined while nobody has searched, or where that is their own order. */
  #order: Uint32Array | undefined;
  #isOrdered = false;
  #wanted = Buffer.alloc(0);
  /** The place in the order behind the file that was found last. */
  #next = 0;

  /**
   * @param length of a table that another thread has filled
   * @param cut bytes that are left away at the start of each path
   */
  constructor(columns: FileColumns, length = 0, cut = 0) {
    this.#columns = columns;
    this.#length = length;
    this.#names = Buffer.from(columns.names.buffer);
    this.#sha256 = Buffer.from(columns.sha256.buffer);
    this.#cut = cut;
  }

  /**
   * Makes an empty table. It grows with a copy of what is in it, so another thread may hold its columns only when there
   * is room for all.
   *
   * @param files that there is room for
   * @param nameBytes of all names together that there is room for
   */
  static empty(files?: number, nameBytes?: number): FileTable {
    return new FileTable(emptyColumns(files, nameBytes));
  }

  static of(files: Iterable<FileEntry>): FileTable {
    const table = FileTable.empty();
    for (const file of files) table.add(file);
    return table;
  }

  get columns(): FileColumns {
    return this.#columns;
  }

  get length(): number {
    return this.#length;
  }

  /** @returns the index of the new file, whose bytes are not written yet */
  push({ path, executable, size }: Pick<FileEntry, "path" | "executable" | "size">): number {
    const index = this.#length;
    const start = this.#nameStart(index);
    this.#makeRoom(start, path);
    const columns = this.#columns;
    columns.size[index] = size;
    columns.executable[index] = executable ? 1 : 0;
    columns.nameEnd[index] = start + this.#names.write(path, start);
    this.#length++;
    return index;
  }

  /** Adds a file whose bytes are known. @returns its index */
  add(file: Omit<FileEntry, "type" | "chunks">): number {
    const index = this.push(file);
    this.#sha256.write(file.sha256, index * SHA256_BYTES, "hex");
    this.#columns.mtimeMs[index] = file.mtimeMs ?? Number.NaN;
    return index;
  }

  #makeRoom(start: number, path: string): void {
    const columns = this.#columns;
    if (this.#length === columns.size.length) {
      growFiles(columns);
      this.#sha256 = Buffer.from(columns.sha256.buffer);
    }
    if (start + path.length * BYTES_PER_UNIT <= columns.names.length) return;
    growNames(columns, start + Buffer.byteLength(path));
    this.#names = Buffer.from(columns.names.buffer);
  }

  /** Takes a file out, if it is there. */
  remove(path: string): void {
    const index = this.indexOf(path);
    if (index === undefined) return;
    const { size, mtimeMs, executable, sha256, nameEnd, names } = this.#columns;
    const start = this.#nameStart(index);
    const nameBytes = nameEnd[index]! - start;
    names.copyWithin(start, start + nameBytes, this.#nameStart(this.#length));
    nameEnd.copyWithin(index, index + 1, this.#length);
    for (const column of [size, mtimeMs, executable]) column.copyWithin(index, index + 1, this.#length);
    sha256.copyWithin(index * SHA256_BYTES, (index + 1) * SHA256_BYTES, this.#length * SHA256_BYTES);
    this.#length--;
    for (let later = index; later < this.#length; later++) nameEnd[later]! -= nameBytes;
    this.#isOrdered = false;
    this.#order = undefined;
    this.#next = 0;
  }

  /** Notes that a file was written to disk. */
  wrote(index: number, { sha256, mtimeMs = Number.NaN }: Written): void {
    this.#columns.sha256.set(sha256, index * SHA256_BYTES);
    this.#columns.mtimeMs[index] = mtimeMs;
  }

  /** Notes that a file has the bytes of a file of another table. */
  wroteCopy(index: number, of: FileTable, file: number): void {
    of.#sha256.copy(this.#sha256, index * SHA256_BYTES, file * SHA256_BYTES, (file + 1) * SHA256_BYTES);
    this.#columns.mtimeMs[index] = Number.NaN;
  }

  /** Notes when a file was written, in milliseconds. */
  setTime(index: number, mtimeMs: number): void {
    this.#columns.mtimeMs[index] = mtimeMs;
  }

  #nameStart(index: number): number {
    return index === 0 ? 0 : this.#columns.nameEnd[index - 1]!;
  }

  pathAt(index: number): string {
    return this.#names.toString("utf8", this.#nameStart(index) + this.#cut, this.#columns.nameEnd[index]);
  }

  /** Lower-case hex. */
  sha256At(index: number): string {
    return this.#sha256.toString("hex", index * SHA256_BYTES, (index + 1) * SHA256_BYTES);
  }

  sizeAt(index: number): number {
    return this.#columns.size[index]!;
  }

  isExecutable(index: number): boolean {
    return this.#columns.executable[index] === 1;
  }

  /** A file that was written, as an object that is made now. */
  at(index: number): FileEntry {
    const file: FileEntry = {
      type: "file",
      path: this.pathAt(index),
      executable: this.isExecutable(index),
      size: this.sizeAt(index),
      sha256: this.sha256At(index),
    };
    const mtimeMs = this.#columns.mtimeMs[index]!;
    if (!Number.isNaN(mtimeMs)) file.mtimeMs = mtimeMs;
    return file;
  }

  *[Symbol.iterator](): Generator<FileEntry> {
    for (let index = 0; index < this.#length; index++) yield this.at(index);
  }

  /** Finds a file by its path, at once where it follows the one that was found last. The table is full by then. */
  find(path: string): FileEntry | undefined {
    const index = this.indexOf(path);
    return index === undefined ? undefined : this.at(index);
  }

  /** Finds a file as {@link find} does. @returns its index */
  indexOf(path: string): number | undefined {
    this.#sort();
    const bytes = this.#write(path);
    if (!this.#isAt(this.#next, bytes)) {
      const place = this.#placeOf(bytes);
      if (!this.#isAt(place, bytes)) return undefined;
      this.#next = place;
    }
    return this.#at(this.#next++);
  }

  /** Writes a path that is looked for to a place of its own: a buffer for each would be more work than the search. */
  #write(path: string): number {
    const most = path.length * BYTES_PER_UNIT;
    if (this.#wanted.length < most) this.#wanted = Buffer.allocUnsafeSlow(most * 2);
    return this.#wanted.write(path);
  }

  /** @param bytes of the path that is looked for */
  #isAt(place: number, bytes: number): boolean {
    return place < this.#length && this.#compare(this.#at(place), this.#wanted, 0, bytes) === 0;
  }

  /** The place that the path that is looked for has in the order, or would have. */
  #placeOf(bytes: number): number {
    let low = 0;
    let high = this.#length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#compare(this.#at(middle), this.#wanted, 0, bytes) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The indices of all files in canonical order of their paths. The table is full by then. */
  *inOrder(): Generator<number> {
    this.#sort();
    for (let place = 0; place < this.#length; place++) yield this.#at(place);
  }

  /** The digest of the tree in lower-case hex (docs/contract/project-artifact.md#tree-digest). */
  digest(): string {
    const digest = new LineDigest();
    for (const index of this.inOrder()) this.#addTo(digest, index, this.#cut);
    return digest.end();
  }

  /** The digest of one folder, with paths relative to it; `undefined` when it holds no file. */
  digestOfFolder(folder: string): string | undefined {
    this.#sort();
    const digest = new LineDigest();
    const first = this.#placeOf(this.#write(folder));
    const prefix = this.#write(`${folder}/`);
    let place = first;
    for (; place < this.#length && this.#begins(this.#at(place), prefix); place++)
      this.#addTo(digest, this.#at(place), this.#cut + prefix);
    return place === first ? undefined : digest.end();
  }

  #addTo(digest: LineDigest, index: number, cut: number): void {
    const range = [this.#nameStart(index) + cut, this.#columns.nameEnd[index]!] as const;
    digest.add(this.#names, range, this.#sha256, index * SHA256_BYTES);
  }

  /** Whether a path begins with so many bytes of the one that is looked for. */
  #begins(index: number, bytes: number): boolean {
    const start = this.#nameStart(index) + this.#cut;
    const end = start + bytes;
    return end <= this.#columns.nameEnd[index]! && this.#names.compare(this.#wanted, 0, bytes, start, end) === 0;
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
    return this.#compare(index, this.#names, this.#nameStart(other) + this.#cut, this.#columns.nameEnd[other]!);
  }

  /** Compares a file's path with the one between two places as `comparePaths` does, without making strings of them. */
  #compare(index: number, other: Buffer, otherStart: number, otherEnd: number): number {
    const start = this.#nameStart(index) + this.#cut;
    const length = this.#columns.nameEnd[index]! - start;
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
