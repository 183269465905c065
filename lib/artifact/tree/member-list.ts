import { createHash } from "node:crypto";
import type { Stats } from "node:fs";
import { bytes, ColumnTable, numbers, paths } from "./columns.ts";

/** Folder or regular file of a source tree. A file carries the facts that later show whether it has changed. */
export interface SourceMember {
  /** POSIX path relative to the root; never empty. */
  path: string;
  type: "folder" | "file";
  executable: boolean;
  /** Size in bytes; 0 for a folder. */
  size: number;
  stamp: Stamp;
}

/** Facts of a file that change whenever its content may have changed. Times in milliseconds, to 0.25 µs. */
export type Stamp = Readonly<Pick<Stats, "dev" | "ino" | "size" | "mtimeMs" | "ctimeMs">>;

/** True when a file is the one that was listed, and has not been written to since. */
export const isUnchanged = (stats: Stats, { dev, ino, size, mtimeMs, ctimeMs }: Stamp): boolean =>
  stats.size === size &&
  stats.mtimeMs === mtimeMs &&
  stats.ctimeMs === ctimeMs &&
  stats.ino === ino &&
  stats.dev === dev;

const IS_FOLDER = 1;
const IS_EXECUTABLE = 2;

type MemberFacts = Record<keyof Stamp, Float64Array> & { kind: Uint8Array };

/** Members of a source tree, sorted by path components, folders before their contents. */
export class MemberList extends ColumnTable<MemberFacts> implements Iterable<SourceMember> {
  #files = 0;
  #bytes = 0;

  constructor() {
    const [dev, ino, size, mtimeMs, ctimeMs] = [numbers(), numbers(), numbers(), numbers(), numbers()];
    super({ kind: bytes(), dev, ino, size, mtimeMs, ctimeMs, ...paths() });
  }

  /** Number of members that are files. */
  get files(): number {
    return this.#files;
  }

  /** Total size of all files, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds a folder or a regular file. */
  push(path: string, stats: Stats): void {
    const index = this.append(path);
    const { columns } = this;
    const isFolder = stats.isDirectory();
    columns.kind[index] = (isFolder ? IS_FOLDER : 0) | ((stats.mode & 0o100) === 0 ? 0 : IS_EXECUTABLE);
    for (const fact of ["dev", "ino", "size", "mtimeMs", "ctimeMs"] as const) columns[fact][index] = stats[fact];
    if (isFolder) return;
    this.#files++;
    this.#bytes += stats.size;
  }

  isFolder(index: number): boolean {
    return (this.columns.kind[index]! & IS_FOLDER) !== 0;
  }

  /** Returns the size of a member in bytes; 0 for a folder. */
  sizeAt(index: number): number {
    return this.isFolder(index) ? 0 : this.columns.size[index]!;
  }

  /** Returns a member, as a new object. */
  at(index: number): SourceMember {
    const { kind, dev, ino, size, mtimeMs, ctimeMs } = this.columns;
    return {
      path: this.pathAt(index),
      type: this.isFolder(index) ? "folder" : "file",
      executable: (kind[index]! & IS_EXECUTABLE) !== 0,
      size: this.sizeAt(index),
      stamp: {
        dev: dev[index]!,
        ino: ino[index]!,
        size: size[index]!,
        mtimeMs: mtimeMs[index]!,
        ctimeMs: ctimeMs[index]!,
      },
    };
  }

  *[Symbol.iterator](): Generator<SourceMember> {
    for (let index = 0; index < this.length; index++) yield this.at(index);
  }

  has(path: string): boolean {
    return this.indexOf(path) !== undefined;
  }

  /** Lists the paths of folders without members. */
  emptyFolders(): string[] {
    const empty: string[] = [];
    for (let index = 0; index < this.length; index++) {
      if (!this.isFolder(index)) continue;
      const path = this.pathAt(index);
      const isLast = index + 1 === this.length;
      if (isLast || !this.pathAt(index + 1).startsWith(`${path}/`)) empty.push(path);
    }
    return empty;
  }

  /** Returns the SHA-256 of the listing: paths, kinds, sizes, times and inode numbers. Reads no file. */
  stampDigest(): Buffer {
    const hash = createHash("sha256");
    const { names, ...facts } = this.columns;
    hash.update(names.subarray(0, facts.nameEnd[this.length - 1] ?? 0));
    for (const column of Object.values<Float64Array | Uint8Array>(facts)) hash.update(column.subarray(0, this.length));
    return hash.digest();
  }
}
