import { bytes, numbers } from "../tree/columns.ts";
import { FileTable } from "../tree/file-table.ts";
import { DEFLATED, STORED } from "./central-header.ts";

/** Regular file of a checked archive. */
export interface ZipMember {
  /** Path from the archive; `safe-path.ts` has checked its components. */
  path: string;
  executable: boolean;
  method: typeof STORED | typeof DEFLATED;
  compressedSize: number;
  uncompressedSize: number;
  crc32: number;
  /** Start of its bytes in the archive. */
  dataOffset: number;
}

/** Facts of members that a file on disk does not have. */
interface MemberFacts {
  dataOffset: Float64Array;
  compressedSize: Float64Array;
  crc32: Float64Array;
  deflated: Uint8Array;
}

/** Regular files of a checked archive, by the names in it, with the place of their bytes. */
export class MemberTable {
  readonly #named: FileTable;
  readonly #facts: MemberFacts;

  /**
   * @param members most members
   * @param nameBytes most bytes of all names together
   */
  constructor(members: number, nameBytes: number) {
    this.#named = FileTable.empty(members, nameBytes);
    this.#facts = {
      dataOffset: numbers(members),
      compressedSize: numbers(members),
      crc32: numbers(members),
      deflated: bytes(members),
    };
  }

  get length(): number {
    return this.#named.length;
  }

  /** Returns the members as files on disk, without their common top folder if there is one. */
  filesWithin(folder: string | undefined): FileTable {
    return folder === undefined ? this.#named : this.#named.below(folder);
  }

  push({ path, executable, method, compressedSize, uncompressedSize, crc32, dataOffset }: ZipMember): void {
    const index = this.#named.push({ path, executable, size: uncompressedSize });
    this.#facts.dataOffset[index] = dataOffset;
    this.#facts.compressedSize[index] = compressedSize;
    this.#facts.crc32[index] = crc32;
    this.#facts.deflated[index] = method === DEFLATED ? 1 : 0;
  }

  at(index: number): ZipMember {
    const { deflated, crc32, dataOffset, compressedSize } = this.#facts;
    return {
      path: this.#named.pathAt(index),
      executable: this.#named.isExecutable(index),
      method: deflated[index] === 1 ? DEFLATED : STORED,
      compressedSize: compressedSize[index]!,
      uncompressedSize: this.#named.sizeAt(index),
      crc32: crc32[index]!,
      dataOffset: dataOffset[index]!,
    };
  }

  *[Symbol.iterator](): Generator<ZipMember> {
    for (let index = 0; index < this.length; index++) yield this.at(index);
  }
}
