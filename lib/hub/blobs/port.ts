import type { Readable } from "node:stream";
import type { ByteRange } from "../../support/network/byte-ranges.ts";

/** A blob on its way in, invisible before `commit`. Disposing it forgets bytes that were not committed. */
export interface IncomingBlob extends AsyncDisposable {
  /** Bytes written so far. */
  readonly size: number;
  /** Waits when the disk is slower than the sender. The chunk must not be changed afterwards. */
  write(chunk: Uint8Array): Promise<void>;
  /** Copies a whole file of this machine in, without its bytes passing through this program. Instead of `write`. */
  copyFrom(path: string): Promise<void>;
  /** Everything written is on the disk afterwards, and can be read back with `readBack`. */
  flush(): Promise<void>;
  /** The path of the flushed bytes, for programs that need a file. */
  readonly path: string;
  /** The flushed bytes; use each chunk before asking for the next. */
  readBack(): AsyncIterable<Uint8Array>;
  /** Makes the flushed bytes durable under `id`. */
  commit(id: string): Promise<void>;
}

/** A blob as a listing shows it. */
export interface BlobEntry {
  id: string;
  /** When it was stored, or moved to the trash. Milliseconds since 1970, by the clock of the storage. */
  since: number;
}

/** The blobs port: immutable bytes under the ids of their records. */
export interface Blobs {
  /** Name of the storage in messages. */
  readonly name: string;
  /** Returns the database that the storage belongs to; undefined while none has claimed it. */
  owner(): Promise<string | undefined>;
  /** Claims the storage for a database, unless another one has it. @returns the owner */
  claim(owner: string): Promise<string | undefined>;
  create(): Promise<IncomingBlob>;
  /** @throws ENOENT when there is no such blob */
  read(id: string, range?: ByteRange): Promise<Readable>;
  /** The paths at which a blob may lie, where blobs are files of this machine: it may move to the trash and back. */
  filesOf?(id: string): readonly string[];
  /** Bytes of a blob, or undefined without one. */
  size(id: string): Promise<number | undefined>;
  /** A URL of the storage itself that works for `lifetimeMs`; undefined where the hub has to serve the bytes. */
  directUrl?(id: string, lifetimeMs: number): Promise<string | undefined>;
  remove(id: string): Promise<void>;
  /** All blobs, in no particular order; the trash is left out. */
  list(): AsyncIterable<BlobEntry>;
  /** Takes a blob out of sight. It can be taken back until it is removed from there. */
  moveToTrash(id: string): Promise<void>;
  takeBack(id: string): Promise<void>;
  listTrash(): AsyncIterable<BlobEntry>;
  removeFromTrash(id: string): Promise<void>;
  /** Removes bytes that never became a blob and have not grown for `minAgeMs`. @returns how many files */
  clearIncoming(minAgeMs: number): Promise<number>;
  /** Rejects when bytes cannot be written now. */
  check(signal: AbortSignal): Promise<void>;
  /** Ends all calls that wait for the storage, where it is not of this machine; later calls fail. */
  close?(): void;
}
