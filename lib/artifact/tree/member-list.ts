import type { Stats } from "node:fs";
import { comparePaths } from "./compare-paths.ts";
import { PathList } from "./path-list.ts";

/** One folder or regular file of a source tree. A file carries the facts that show later whether it has changed. */
export interface SourceMember {
  /** POSIX, relative to the root; never empty. */
  path: string;
  type: "folder" | "file";
  executable: boolean;
  /** Bytes; 0 for a folder. */
  size: number;
  stamp: Stamp;
}

/** The facts of a file that change whenever its content may have changed. Times in milliseconds, to 0.25 µs. */
export type Stamp = Readonly<Pick<Stats, "dev" | "ino" | "size" | "mtimeMs" | "ctimeMs">>;

/** True when a file is the one that was listed, and nobody has written to it since. */
export const isUnchanged = (stats: Stats, { dev, ino, size, mtimeMs, ctimeMs }: Stamp): boolean =>
  stats.size === size &&
  stats.mtimeMs === mtimeMs &&
  stats.ctimeMs === ctimeMs &&
  stats.ino === ino &&
  stats.dev === dev;

/** Members that there is room for at first. */
const MEMBERS = 1024;
/** Numbers of one member: those of its stamp. */
const NUMBERS = 5;
const IS_FOLDER = 1;
const IS_EXECUTABLE = 2;

/**
 * Members of a source tree, sorted by path components, folders before their contents. They are kept as columns, and a
 * member is an object only while it is looked at: 100,000 objects would take 30 MB.
 */
export class MemberList implements Iterable<SourceMember> {
  readonly #paths = new PathList();
  #kinds = new Uint8Array(MEMBERS);
  #stamps = new Float64Array(MEMBERS * NUMBERS);
  #length = 0;
  #files = 0;
  #bytes = 0;

  get length(): number {
    return this.#length;
  }

  /** Number of members that are files. */
  get files(): number {
    return this.#files;
  }

  /** Bytes of all files together. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds a folder or a regular file, whose path comes behind those of all others. */
  push(path: string, stats: Stats): void {
    const index = this.#length++;
    if (index === this.#kinds.length) {
      this.#kinds = new Uint8Array(this.#kinds.buffer.transfer(index * 2));
      this.#stamps = new Float64Array(this.#stamps.buffer.transfer(this.#stamps.byteLength * 2));
    }
    this.#paths.push(path);
    const { dev, ino, size, mtimeMs, ctimeMs, mode } = stats;
    const isFolder = stats.isDirectory();
    this.#kinds[index] = (isFolder ? IS_FOLDER : 0) | ((mode & 0o100) === 0 ? 0 : IS_EXECUTABLE);
    const at = index * NUMBERS;
    this.#stamps[at] = dev;
    this.#stamps[at + 1] = ino;
    this.#stamps[at + 2] = size;
    this.#stamps[at + 3] = mtimeMs;
    this.#stamps[at + 4] = ctimeMs;
    if (isFolder) return;
    this.#files++;
    this.#bytes += size;
  }

  pathAt(index: number): string {
    return this.#paths.at(index);
  }

  isFolder(index: number): boolean {
    return (this.#kinds[index]! & IS_FOLDER) !== 0;
  }

  /** Bytes; 0 for a folder. */
  sizeAt(index: number): number {
    return this.isFolder(index) ? 0 : this.#stamps[index * NUMBERS + 2]!;
  }

  /** A member, as an object that is made now. */
  at(index: number): SourceMember {
    const at = index * NUMBERS;
    const stamps = this.#stamps;
    return {
      path: this.pathAt(index),
      type: this.isFolder(index) ? "folder" : "file",
      executable: (this.#kinds[index]! & IS_EXECUTABLE) !== 0,
      size: this.sizeAt(index),
      stamp: {
        dev: stamps[at]!,
        ino: stamps[at + 1]!,
        size: stamps[at + 2]!,
        mtimeMs: stamps[at + 3]!,
        ctimeMs: stamps[at + 4]!,
      },
    };
  }

  *[Symbol.iterator](): Generator<SourceMember> {
    for (let index = 0; index < this.#length; index++) yield this.at(index);
  }

  has(path: string): boolean {
    const place = this.#placeOf(path);
    return place < this.#length && this.pathAt(place) === path;
  }

  /** The indices of what lies in a folder and in the folders in it. */
  *within(folder: string): Generator<number> {
    const prefix = `${folder}/`;
    for (let index = this.#placeOf(prefix); index < this.#length; index++) {
      if (!this.pathAt(index).startsWith(prefix)) return;
      yield index;
    }
  }

  /** The paths of folders that hold no member. */
  emptyFolders(): string[] {
    const empty: string[] = [];
    for (let index = 0; index < this.#length; index++) {
      if (!this.isFolder(index)) continue;
      const path = this.pathAt(index);
      const isLast = index + 1 === this.#length;
      if (isLast || !this.pathAt(index + 1).startsWith(`${path}/`)) empty.push(path);
    }
    return empty;
  }

  /** The index that a path has, or would have. */
  #placeOf(path: string): number {
    let low = 0;
    let high = this.#length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (comparePaths(this.pathAt(middle), path) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
