import type { FileColumns } from "../tree/file-columns.ts";
import { FileTable } from "../tree/file-table.ts";
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

/** Columns of a {@link MemberTable}: an item for each member. */
export interface MemberColumns {
  files: FileColumns;
  dataOffset: Float64Array;
  compressedSize: Float64Array;
  crc32: Uint32Array;
  deflated: Uint8Array;
}

const float64 = (length: number) => new Float64Array(new SharedArrayBuffer(length * 8));

/** The regular files of a checked archive: where their bytes are, and what became of them. Two threads share it. */
export class MemberTable {
  readonly columns: MemberColumns;
  /** The members under the names that the archive gives them. */
  readonly #named: FileTable;

  /** @param length of a table that another thread has filled */
  constructor(columns: MemberColumns, length = 0) {
    this.columns = columns;
    this.#named = new FileTable(columns.files, length);
  }

  /**
   * Makes an empty table. Pages that nothing is written to cost no memory.
   *
   * @param members at most
   * @param nameBytes of all names together, at most
   */
  static empty(members: number, nameBytes: number): MemberTable {
    return new MemberTable({
      files: FileTable.empty(members, nameBytes).columns,
      dataOffset: float64(members),
      compressedSize: float64(members),
      crc32: new Uint32Array(new SharedArrayBuffer(members * 4)),
      deflated: new Uint8Array(new SharedArrayBuffer(members)),
    });
  }

  get length(): number {
    return this.#named.length;
  }

  /** The members as files on disk: without the folder that all of them are in, where there is one. */
  filesWithin(folder: string | undefined): FileTable {
    const cut = folder === undefined ? 0 : Buffer.byteLength(folder) + 1;
    return new FileTable(this.columns.files, this.length, cut);
  }

  push({ path, executable, method, compressedSize, uncompressedSize, crc32, dataOffset }: ZipMember): void {
    const { columns } = this;
    const index = this.#named.push({ path, executable, size: uncompressedSize });
    columns.dataOffset[index] = dataOffset;
    columns.compressedSize[index] = compressedSize;
    columns.crc32[index] = crc32;
    columns.deflated[index] = method === DEFLATED ? 1 : 0;
  }

  /** The bytes of a member: packed and unpacked. */
  sizesOf(index: number): Pick<ZipMember, "compressedSize" | "uncompressedSize"> {
    const { compressedSize, files } = this.columns;
    return { compressedSize: compressedSize[index]!, uncompressedSize: files.size[index]! };
  }

  pathAt(index: number): string {
    return this.#named.pathAt(index);
  }

  at(index: number): ZipMember {
    const { deflated, crc32, dataOffset } = this.columns;
    return {
      path: this.pathAt(index),
      executable: this.#named.isExecutable(index),
      method: deflated[index] === 1 ? DEFLATED : STORED,
      ...this.sizesOf(index),
      crc32: crc32[index]!,
      dataOffset: dataOffset[index]!,
    };
  }

  *[Symbol.iterator](): Generator<ZipMember> {
    for (let index = 0; index < this.length; index++) yield this.at(index);
  }
}
