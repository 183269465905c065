import type { Readable } from "node:stream";
import type { ByteRange } from "../../support/network/byte-ranges.ts";

/** Blob being received, invisible before `commit`. Disposing discards bytes that were not committed. */
export interface IncomingBlob extends AsyncDisposable {
  /** Bytes written so far. */
  readonly size: number;
  /** Waits when the disk is slower than the sender. The chunk must not be changed afterwards. */
  write(chunk: Uint8Array): Promise<void>;
  /** Copies a whole local file in, without its bytes passing through this program. Replaces `write`. */
  copyFrom(path: string): Promise<void>;
  /** Makes everything written durable, and readable by `readBack`. */
  flush(): Promise<void>;
  /** Path of the flushed bytes, for programs that need a file. */
  readonly path: string;
  /** Streams the flushed bytes; use each chunk before asking for the next. */
  readBack(): AsyncIterable<Uint8Array>;
  /** Makes the flushed bytes durable under `id`. */
  commit(id: string): Promise<void>;
  /**
   * Leaves the bytes written so far where {@link Blobs.kept} finds them, without waiting for the disk.
   *
   * @returns their path there
   */
  keep(): Promise<string>;
}

/** Bytes of an upload that was cut, in the local folder where uploads arrive. */
export interface KeptFile {
  path: string;
  bytes: number;
  /** Time of the last byte, in milliseconds since 1970. */
  since: number;
  /** Whether another process may be writing it. */
  grows: boolean;
}

/** Blob as a listing shows it. */
export interface BlobEntry {
  id: string;
  /** Time when it was stored or moved to the trash, in milliseconds since 1970, by the storage's clock. */
  since: number;
}

/** Blobs port: immutable bytes under the ids of their records. */
export interface Blobs {
  /** Name of the storage in messages. */
  readonly name: string;
  /** Returns the database that the storage belongs to; undefined while none has claimed it. */
  owner(): Promise<string | undefined>;
  /** Claims the storage for a database, unless another one has it. @returns the owner */
  claim(owner: string): Promise<string | undefined>;
  /**
   * Starts a blob.
   *
   * @param name hexadecimal, under which a cut upload, or one that a crash left, is found; without one nothing is kept
   */
  create(name?: string): Promise<IncomingBlob>;
  /** Continues a kept file that does not grow. @returns undefined when somebody else has it, or it was removed */
  reopen(path: string): Promise<IncomingBlob | undefined>;
  /** Lists named files whose name begins with `prefix`, without those that this process writes now. */
  kept(prefix: string): Promise<KeptFile[]>;
  /** Removes a kept file. */
  forget(path: string): Promise<void>;
  /** Streams a blob. @throws ENOENT when there is no such blob */
  read(id: string, range?: ByteRange): Promise<Readable>;
  /** Paths at which a blob may lie, if blobs are local files: it may move to the trash and back. */
  filesOf?(id: string): readonly string[];
  /** Returns the size of a blob in bytes, or undefined without one. */
  size(id: string): Promise<number | undefined>;
  /**
   * Returns a URL of the storage itself that works for `lifetimeMs`; undefined where the hub has to serve the bytes.
   */
  directUrl?(id: string, lifetimeMs: number): Promise<string | undefined>;
  remove(id: string): Promise<void>;
  /** Lists all blobs, in no particular order, without those in the trash. */
  list(): AsyncIterable<BlobEntry>;
  /** Moves a blob to the trash, from which it can be restored until it is purged. */
  moveToTrash(id: string): Promise<void>;
  takeBack(id: string): Promise<void>;
  listTrash(): AsyncIterable<BlobEntry>;
  removeFromTrash(id: string): Promise<void>;
  /**
   * Removes uploads that never became a blob and have not grown for `minAgeMs`, or for a day where they have a name.
   *
   * @returns how many files
   */
  clearIncoming(minAgeMs: number): Promise<number>;
  /** Rejects when the storage cannot be written now. */
  check(signal: AbortSignal): Promise<void>;
  /** Aborts all calls that wait for a remote storage; later calls fail. */
  close?(): void;
}
