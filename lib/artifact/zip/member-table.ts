import type { FileEntry } from "../tree/tree-index.ts";
import { DEFLATED, STORED } from "./central-header.ts";

/** One regular file of a checked archive. */
export interface ZipMember {
  /** As the archive names it, of components that `safe-path.ts` has let through. */
  path: string;
  executable: boolean;
  method: typeof STORED | typeof DEFLATED;
  compressedSize: number;
  uncompressedSize: number;
  crc32: number;
  /** The start of its bytes in the archive. */
  dataOffset: number;
}

/** A member that is on the disk. */
export interface Written {
  /** Of its bytes. */
  sha256: Buffer;
  /** In milliseconds. */
  mtimeMs?: number;
}

const EXECUTABLE = 1;
const IS_DEFLATED = 2;
const SHA256_BYTES = 32;

/** Columns of a {@link MemberTable}: an item for each member, 32 bytes of `sha256`; names follow each other. */
export interface MemberColumns {
  dataOffset: Float64Array;
  compressedSize: Float64Array;
  uncompressedSize: Float64Array;
  crc32: Float64Array;
  flags: Uint8Array;
  nameEnd: Float64Array;
  names: Uint8Array;
  sha256: Uint8Array;
  mtimeMs: Float64Array;
}

const float64 = (length: number) => new Float64Array(new SharedArrayBuffer(length * 8));
const bytes = (length: number) => new Uint8Array(new SharedArrayBuffer(length));

/**
 * The regular files of a checked archive, and what became of them: columns in memory that two threads share. As
 * objects, 200,000 of them would take 100 MB, and again as much in the other thread.
 */
export class MemberTable {
  readonly columns: MemberColumns;
  #length = 0;
  readonly #names: Buffer;

  /** @param length of a table that another thread has filled */
  constructor(columns: MemberColumns, length = 0) {
    this.columns = columns;
    this.#length = length;
    this.#names = Buffer.from(columns.names.buffer);
  }

  /**
   * Makes an empty table. Pages that nothing is written to cost no memory.
   *
   * @param members at most
   * @param nameBytes of all names together, at most
   */
  static empty(members: number, nameBytes: number): MemberTable {
    return new MemberTable({
      dataOffset: float64(members),
      compressedSize: float64(members),
      uncompressedSize: float64(members),
      crc32: float64(members),
      flags: bytes(members),
      nameEnd: float64(members),
      names: bytes(nameBytes),
      sha256: bytes(members * SHA256_BYTES),
      mtimeMs: float64(members),
    });
  }

  get length(): number {
    return this.#length;
  }

  push({ path, executable, method, compressedSize, uncompressedSize, crc32, dataOffset }: ZipMember): void {
    const { columns } = this;
    const index = this.#length++;
    columns.dataOffset[index] = dataOffset;
    columns.compressedSize[index] = compressedSize;
    columns.uncompressedSize[index] = uncompressedSize;
    columns.crc32[index] = crc32;
    columns.flags[index] = (executable ? EXECUTABLE : 0) | (method === DEFLATED ? IS_DEFLATED : 0);
    const start = this.#nameStart(index);
    columns.nameEnd[index] = start + this.#names.write(path, start);
  }

  #nameStart(index: number): number {
    return index === 0 ? 0 : this.columns.nameEnd[index - 1]!;
  }

  #pathOf(index: number): string {
    return this.#names.toString("utf8", this.#nameStart(index), this.columns.nameEnd[index]);
  }

  /** The bytes of a member: packed and unpacked. */
  sizesOf(index: number): Pick<ZipMember, "compressedSize" | "uncompressedSize"> {
    const { compressedSize, uncompressedSize } = this.columns;
    return { compressedSize: compressedSize[index]!, uncompressedSize: uncompressedSize[index]! };
  }

  at(index: number): ZipMember {
    const { flags, crc32, dataOffset } = this.columns;
    return {
      path: this.#pathOf(index),
      executable: (flags[index]! & EXECUTABLE) !== 0,
      method: (flags[index]! & IS_DEFLATED) !== 0 ? DEFLATED : STORED,
      ...this.sizesOf(index),
      crc32: crc32[index]!,
      dataOffset: dataOffset[index]!,
    };
  }

  *[Symbol.iterator](): Generator<ZipMember> {
    for (let index = 0; index < this.#length; index++) yield this.at(index);
  }

  /** Notes that a member was written to disk. */
  wrote(index: number, { sha256, mtimeMs = Number.NaN }: Written): void {
    this.columns.sha256.set(sha256, index * SHA256_BYTES);
    this.columns.mtimeMs[index] = mtimeMs;
  }

  /**
   * The members as files on disk; all of them were written.
   *
   * @param strip characters that are left away at the start of each path
   */
  *written(strip: number): Generator<FileEntry> {
    const digests = Buffer.from(this.columns.sha256.buffer);
    for (let index = 0; index < this.#length; index++) {
      const mtimeMs = this.columns.mtimeMs[index]!;
      yield {
        type: "file",
        path: this.#pathOf(index).slice(strip),
        executable: (this.columns.flags[index]! & EXECUTABLE) !== 0,
        size: this.columns.uncompressedSize[index]!,
        sha256: digests.toString("hex", index * SHA256_BYTES, (index + 1) * SHA256_BYTES),
        ...(!Number.isNaN(mtimeMs) && { mtimeMs }),
      };
    }
  }
}
