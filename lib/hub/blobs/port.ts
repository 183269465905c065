import type { Readable } from "node:stream";

/** Inclusive byte positions, as in a Range header. */
export interface ByteRange {
  start: number;
  end: number;
}

/** A blob on its way in: nothing of it is visible before `commit`. Disposing it forgets the bytes, unless they were committed. */
export interface IncomingBlob extends AsyncDisposable {
  /** Bytes written so far. */
  readonly size: number;
  /** Waits when the disk is slower than the sender. The chunk must not be changed afterwards. */
  write(chunk: Uint8Array): Promise<void>;
  /** Everything written is on the disk afterwards, and can be read back with `readBack`. */
  flush(): Promise<void>;
  /** Where the flushed bytes can be read from by programs that need a file. */
  readonly path: string;
  /** The flushed bytes; use each chunk before asking for the next. */
  readBack(): AsyncIterable<Uint8Array>;
  /** Makes the flushed bytes durable under `id`. */
  commit(id: string): Promise<void>;
}

/** The blobs port: immutable bytes under the ids of their records. */
export interface Blobs {
  /**
   * Makes a storage that others can reach, too, this database's own, before `sweep` may remove anything from it.
   *
   * @param owner says which database, and is no secret
   * @throws UsageError `usage` when it is another database's
   */
  claim?(owner: string): Promise<void>;
  create(): Promise<IncomingBlob>;
  /** @throws ENOENT when there is no such blob */
  read(id: string, range?: ByteRange): Promise<Readable>;
  /**
   * An address that gives the bytes to whoever has it, without the hub, for `lifetimeMs`. Undefined where the hub itself has to serve
   * them.
   */
  directUrl?(id: string, lifetimeMs: number): Promise<string | undefined>;
  remove(id: string): Promise<void>;
  /**
   * Removes what a crash left behind: bytes that were never committed, and blobs without a record.
   *
   * @param isKnown tells which of the ids have a record
   * @param minAgeMs younger leftovers stay, for they may belong to another hub on the same storage
   */
  sweep(isKnown: (ids: string[]) => Promise<Set<string>>, minAgeMs: number): Promise<{ removed: number }>;
  /** Whether bytes can be written now. */
  check(): Promise<void>;
}
