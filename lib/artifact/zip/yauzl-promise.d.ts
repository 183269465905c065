declare module "yauzl-promise" {
  import type { Readable } from "node:stream";

  export interface Entry<Name = string> {
    filename: Name;
    compressionMethod: number;
    compressedSize: number;
    uncompressedSize: number;
    versionMadeBy: number;
    externalFileAttributes: number;
    crc32: number;
    /** Null until its stream was opened. */
    fileDataOffset: number | null;
    openReadStream(options?: { decompress?: boolean; validateCrc32?: boolean }): Promise<Readable>;
  }
  export interface Zip<Name = string> extends AsyncIterable<Entry<Name>> {
    /** Resolves to null behind the last entry. */
    readEntry(): Promise<Entry<Name> | null>;
    close(): Promise<void>;
  }
  export class Reader {
    _read(start: number, length: number): Promise<Buffer>;
    _createReadStream(start: number, length: number): Readable;
  }
  interface BytesOptions {
    /** Names stay bytes. */
    decodeStrings: false;
    validateFilenames?: boolean;
  }
  export function open(path: string): Promise<Zip>;
  export function fromReader(reader: Reader, size: number, options: BytesOptions): Promise<Zip<Buffer>>;
}
