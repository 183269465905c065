import { createHash } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import { missing } from "../support/files.ts";
import type { ByteRange } from "../support/network/byte-ranges.ts";
import type { ArtifactCache, Reservation } from "./artifact-cache.ts";

const CHUNK_BYTES = 256 * 1024;

/** Error of a cache that could not store the bytes; the hub is not to blame. */
export class CacheFault extends Error {
  constructor(cause: unknown) {
    super("the cache cannot be written", { cause });
  }
}

/** Artifact being downloaded into the cache. Any number of readers follow the one download. */
export class Fill {
  readonly #path: string;
  readonly #size: number;
  #written = 0;
  #isWhole = false;
  #failure: Error | undefined;
  #progress = Promise.withResolvers<void>();
  readonly #made = Promise.withResolvers<void>();
  /** Settles when the download is over, successful or not. */
  readonly ended: Promise<void>;

  /** @param bytes from the hub; checked against `sha256` and `size` */
  constructor(
    cache: ArtifactCache,
    { reservation, sha256, size }: { reservation: Reservation; sha256: string; size: number },
    bytes: AsyncIterable<Buffer>,
  ) {
    this.#path = reservation.path;
    this.#size = size;
    this.ended = this.#run(cache, reservation, sha256, bytes);
  }

  /** Error of the download, if it has failed. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  async #run(
    cache: ArtifactCache,
    reservation: Reservation,
    sha256: string,
    bytes: AsyncIterable<Buffer>,
  ): Promise<void> {
    using _room = reservation;
    try {
      const digest = await this.#store(bytes);
      if (this.#written !== this.#size || digest !== sha256)
        throw new Error(`the hub sent other bytes than it named (${this.#written} of ${this.#size})`);
      await cache.admit(this.#path, sha256, this.#size).catch((error: unknown) => {
        throw new CacheFault(error);
      });
      this.#isWhole = true;
    } catch (error) {
      this.#failure = error as Error;
      await rm(this.#path, { force: true }).catch(() => {});
    } finally {
      this.#made.resolve();
      this.#progress.resolve();
    }
  }

  async #store(bytes: AsyncIterable<Buffer>): Promise<string> {
    const hash = createHash("sha256");
    const file = await open(this.#path, "wx", 0o600).catch((error: unknown) => {
      throw new CacheFault(error);
    });
    this.#made.resolve();
    try {
      for await (const chunk of bytes) {
        if (this.#written + chunk.length > this.#size) throw new Error("the hub sent more bytes than it named");
        hash.update(chunk);
        await file.writeFile(chunk).catch((error: unknown) => {
          throw new CacheFault(error);
        });
        this.#written += chunk.length;
        this.#progress.resolve();
        this.#progress = Promise.withResolvers();
      }
    } finally {
      await file.close();
    }
    return hash.digest("hex");
  }

  /** Opens the file for a reader. Returns undefined once the download is over, if it has ended meanwhile. */
  async open(): Promise<FileHandle | undefined> {
    await this.#made.promise;
    try {
      return await open(this.#path, "r");
    } catch (error) {
      if (!missing(error)) throw error;
      // The file is renamed before the cache knows it.
      await this.ended;
      return undefined;
    }
  }

  /**
   * Yields bytes as they arrive. Holds the last ones back until the digest is verified.
   *
   * @throws CacheFault when the disk is full, and the error of the download
   */
  async *read(file: FileHandle, { start, end }: ByteRange): AsyncGenerator<Buffer> {
    for (let at = start; at <= end;) {
      const ready = this.#isWhole ? this.#size : Math.min(this.#written, this.#size - 1);
      if (at < ready) {
        const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, ready - at, end + 1 - at));
        const { bytesRead } = await file.read(chunk, 0, chunk.length, at);
        if (bytesRead === 0) throw new Error("a file of the cache has become shorter");
        at += bytesRead;
        yield chunk.subarray(0, bytesRead);
      } else if (this.#failure !== undefined) throw this.#failure;
      else await this.#progress.promise;
    }
  }
}
