/** Column in memory shared by threads: a number, or the same number of bytes, for each item of a list. */
type Column = Float64Array | Uint8Array;

/** Paths as consecutive bytes, and the end of each. */
export interface PathColumns {
  names: Uint8Array;
  nameEnd: Float64Array;
}

const SLASH = 0x2f;
/** Most bytes of UTF-8 per unit of a string. */
const BYTES_PER_UNIT = 3;
/** Initial room for items, and for bytes of their names. Unwritten pages cost no memory. */
const ITEMS = 128 * 1024;
const NAME_BYTES = 8 * 1024 * 1024;

/** Makes a column of numbers. */
export const numbers = (items = ITEMS): Float64Array => new Float64Array(new SharedArrayBuffer(items * 8));

/** Makes a column of bytes, so many for each item. */
export const bytes = (items = ITEMS, width = 1): Buffer => Buffer.from(new SharedArrayBuffer(items * width));

/** Makes columns of paths. A list of `items` paths of `nameBytes` together does not grow. */
export const paths = (items = ITEMS, nameBytes = NAME_BYTES): PathColumns => ({
  names: bytes(nameBytes),
  nameEnd: numbers(items),
});

/**
 * List of paths with facts of each, as columns in memory shared by threads: the one store for lists of files. As
 * objects, a ZIP of 200,000 files would take some 100 MB more, and a fifth more processor time, since each full
 * collection visits all of them.
 *
 * Only the subclasses touch the columns, and they return values. The list grows by copying its columns, so hand them to
 * another thread only when nothing more is added.
 */
export abstract class ColumnTable<Facts extends Record<keyof Facts, Column>> {
  protected readonly columns: Facts & PathColumns;
  #length: number;
  /** Bytes omitted at the start of each path. */
  protected readonly cut: number;
  /** Indices in the order of the paths; undefined before the first search, or if that is their own order. */
  #order: Uint32Array | undefined;
  #isOrdered = false;
  #wanted = Buffer.alloc(0);
  /** Position in the order after the last item found. */
  #next = 0;

  /**
   * @param columns of equal length, except for the names; those of another thread are used in place
   * @param length of a list that was filled before
   * @param cut bytes omitted at the start of each path
   */
  protected constructor(columns: Facts & PathColumns, length = 0, cut = 0) {
    this.columns = columns;
    this.#length = length;
    this.cut = cut;
    // A buffer received from another thread is a plain array.
    for (const [name, column] of this.#all())
      if (column instanceof Uint8Array) this.#set(name, Buffer.from(column.buffer, column.byteOffset, column.length));
  }

  #all(): [string, Column][] {
    return Object.entries<Column>(this.columns);
  }

  #set(name: string, column: Column): void {
    (this.columns as Record<string, Column>)[name] = column;
  }

  get #names(): Buffer {
    return this.columns.names as Buffer;
  }

  get length(): number {
    return this.#length;
  }

  /** Adds a path, whose facts the caller writes into the columns. @returns its index */
  protected append(path: string): number {
    const { nameEnd, names } = this.columns;
    const index = this.#length;
    const start = this.#nameStart(index);
    if (index === nameEnd.length) for (const [name, column] of this.#all()) if (column !== names) this.#grow(name);
    if (start + path.length * BYTES_PER_UNIT > names.length) {
      const end = start + Buffer.byteLength(path);
      while (end > this.columns.names.length) this.#grow("names");
    }
    this.columns.nameEnd[index] = start + this.#names.write(path, start);
    this.#length++;
    this.#isOrdered = false;
    this.#order = undefined;
    return index;
  }

  #grow(name: string): void {
    const old = (this.columns as Record<string, Column>)[name]!;
    const room = new SharedArrayBuffer(old.byteLength * 2);
    const grown = old instanceof Float64Array ? new Float64Array(room) : Buffer.from(room);
    grown.set(old);
    this.#set(name, grown);
  }

  /** Removes a path, if it is in the list. */
  remove(path: string): void {
    const index = this.indexOf(path);
    if (index === undefined) return;
    const { names, nameEnd } = this.columns;
    const start = this.#nameStart(index);
    const nameBytes = nameEnd[index]! - start;
    names.copyWithin(start, start + nameBytes, this.#nameStart(this.#length));
    for (const [, column] of this.#all()) {
      const width = column.length / nameEnd.length;
      if (column !== names) column.copyWithin(index * width, (index + 1) * width, this.#length * width);
    }
    this.#length--;
    for (let later = index; later < this.#length; later++) nameEnd[later]! -= nameBytes;
    this.#isOrdered = false;
    this.#order = undefined;
    this.#next = 0;
  }

  #nameStart(index: number): number {
    return index === 0 ? 0 : this.columns.nameEnd[index - 1]!;
  }

  /** Returns the start and end of a path's bytes in the column of names. */
  protected nameRange(index: number): [start: number, end: number] {
    return [this.#nameStart(index) + this.cut, this.columns.nameEnd[index]!];
  }

  pathAt(index: number): string {
    return this.#names.toString("utf8", this.#nameStart(index) + this.cut, this.columns.nameEnd[index]);
  }

  /** Finds an item by its path, at once if it follows the one that was found last. @returns its index */
  indexOf(path: string): number | undefined {
    this.#sort();
    const length = this.#write(path);
    if (!this.#isAt(this.#next, length)) {
      const place = this.#placeOf(length);
      if (!this.#isAt(place, length)) return undefined;
      this.#next = place;
    }
    return this.#at(this.#next++);
  }

  /** Yields the indices of all items in canonical order of their paths. */
  *inOrder(): Generator<number> {
    this.#sort();
    for (let place = 0; place < this.#length; place++) yield this.#at(place);
  }

  /** Yields the indices of everything below a folder, in canonical order. */
  *within(folder: string): Generator<number> {
    this.#sort();
    const prefix = this.#write(`${folder}/`);
    for (let place = this.#placeOf(prefix); place < this.#length; place++) {
      // Others may have searched meanwhile.
      this.#write(`${folder}/`);
      if (!this.#begins(this.#at(place), prefix)) return;
      yield this.#at(place);
    }
  }

  /** Writes the path searched for into a shared buffer: one for each would be more work than the search. */
  #write(path: string): number {
    const most = path.length * BYTES_PER_UNIT;
    if (this.#wanted.length < most) this.#wanted = Buffer.allocUnsafeSlow(most * 2);
    return this.#wanted.write(path);
  }

  /** @param length of the path searched for, in bytes */
  #isAt(place: number, length: number): boolean {
    return place < this.#length && this.#compare(this.#at(place), this.#wanted, 0, length) === 0;
  }

  /** Returns the position in the order that the path searched for has, or would have. */
  #placeOf(length: number): number {
    let low = 0;
    let high = this.#length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#compare(this.#at(middle), this.#wanted, 0, length) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Tells whether a path begins with `length` bytes of the one searched for. */
  #begins(index: number, length: number): boolean {
    const [start, end] = this.nameRange(index);
    return start + length <= end && this.#names.compare(this.#wanted, 0, length, start, start + length) === 0;
  }

  /** Returns the index at a position in the order of the paths. */
  #at(place: number): number {
    return this.#order === undefined ? place : this.#order[place]!;
  }

  #sort(): void {
    if (this.#isOrdered) return;
    this.#isOrdered = true;
    const compare = (index: number, other: number): number =>
      this.#compare(index, this.#names, ...this.nameRange(other));
    let index = 1;
    while (index < this.#length && compare(index - 1, index) < 0) index++;
    if (index >= this.#length) return;
    this.#order = Uint32Array.from({ length: this.#length }, (_, place) => place);
    this.#order.sort(compare);
  }

  /** Compares a path with the bytes between two offsets like `comparePaths`, without making strings. */
  #compare(index: number, other: Buffer, otherStart: number, otherEnd: number): number {
    const names = this.#names;
    const start = this.#nameStart(index) + this.cut;
    const length = this.columns.nameEnd[index]! - start;
    const otherLength = otherEnd - otherStart;
    const common = Math.min(length, otherLength);
    for (let i = 0; i < common; i++) {
      const x = names[start + i]!;
      const y = other[otherStart + i]!;
      if (x === y) continue;
      // A component that ends here comes before one that continues.
      if (x === SLASH) return -1;
      if (y === SLASH) return 1;
      return x - y;
    }
    return length - otherLength;
  }
}
