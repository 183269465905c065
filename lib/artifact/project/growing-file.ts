import { type FileHandle, open } from "node:fs/promises";
import { paced } from "../../support/buffer-pacing.ts";
import { traceLane, waiting } from "../thread/lane-trace.ts";

const CHUNK_BYTES = 256 * 1024;

/**
 * File that can be read from its start while it is still being written. Each reader has its own position, so that an
 * upload can be repeated.
 */
export class GrowingFile {
  readonly path: string;
  /** Total size in bytes; undefined while the file grows. */
  total: number | undefined;
  #bytes = 0;
  #failure: { error: unknown } | undefined;
  #change = Promise.withResolvers<Buffer | undefined>();
  /** Readers that have reached the end of what is written. */
  #waiting = 0;

  constructor(path: string) {
    this.path = path;
  }

  /**
   * Announces bytes appended to the file.
   *
   * @returns whether a reader took the buffer itself, which must not change then: bytes in memory need not be read
   *   from the file
   */
  grow(bytes: Buffer): boolean {
    const isTaken = this.#waiting > 0;
    this.#bytes += bytes.length;
    this.#tell(bytes);
    return isTaken;
  }

  /** Announces the end of the file. */
  end(): void {
    this.total = this.#bytes;
    this.#tell();
  }

  /** Makes every reader fail with this error. */
  fail(error: unknown): void {
    this.#failure = { error };
    this.#tell();
  }

  /**
   * Yields the bytes of the file from its start, in buffers that do not change, and waits for those that are not
   * written yet. The wait ends with {@link end} or {@link fail}.
   */
  read(): AsyncGenerator<Buffer> {
    return paced(this.#read());
  }

  async *#read(): AsyncGenerator<Buffer> {
    using lane = traceLane("upload");
    let file: FileHandle | undefined;
    try {
      for (let position = 0; ;) {
        if (this.#failure !== undefined) throw this.#failure.error;
        const there = this.#bytes - position;
        if (there === 0) {
          if (this.total !== undefined) return;
          this.#waiting++;
          const written = await waiting(lane, "encrypt", this.#change.promise);
          if (written === undefined) continue;
          position += written.length;
          const sent = lane?.begin("network");
          yield written;
          sent?.();
          continue;
        }
        file ??= await open(this.path, "r");
        const buffer = Buffer.allocUnsafeSlow(Math.min(there, CHUNK_BYTES));
        const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
        if (bytesRead === 0) throw new Error(`${this.path} is shorter than what was written to it.`);
        position += bytesRead;
        const sent = lane?.begin("network");
        yield buffer.subarray(0, bytesRead);
        sent?.();
      }
    } finally {
      await file?.close();
    }
  }

  #tell(written?: Buffer): void {
    const { resolve } = this.#change;
    this.#change = Promise.withResolvers();
    this.#waiting = 0;
    resolve(written);
  }
}
