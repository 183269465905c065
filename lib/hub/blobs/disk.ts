import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { access, type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { readChunks } from "../../artifact/ed25519.ts";
import { syncFolder } from "../../support/files.ts";
import { countBuffered } from "../buffer-collection.ts";
import type { Blobs, ByteRange, IncomingBlob } from "./port.ts";

/** Bytes gathered before they are written: fewer, larger writes while the next ones arrive. */
const WRITE_BATCH = 1024 * 1024;
const READ_CHUNK = 256 * 1024;
const SWEEP_BATCH = 500;

class IncomingFile implements IncomingBlob {
  readonly path: string;
  readonly #blobs: DiskBlobs;
  readonly #handle: FileHandle;
  #size = 0;
  #gathered: Uint8Array[] = [];
  #gatheredBytes = 0;
  #writing: Promise<void> = Promise.resolve();
  #open = true;
  #committed = false;

  constructor(blobs: DiskBlobs, path: string, handle: FileHandle) {
    this.#blobs = blobs;
    this.path = path;
    this.#handle = handle;
  }

  get size(): number {
    return this.#size;
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#size += chunk.length;
    this.#gathered.push(chunk);
    this.#gatheredBytes += chunk.length;
    if (this.#gatheredBytes < WRITE_BATCH) return;
    // One batch is being written while the next gathers: two batches are all that a slow disk can make us hold.
    await this.#writing;
    this.#startWrite();
  }

  #startWrite(): void {
    const batch = this.#gathered;
    this.#gathered = [];
    this.#gatheredBytes = 0;
    this.#writing = this.#writeAll(batch);
    // The error is thrown by whoever waits next; until then it must not count as unhandled.
    this.#writing.catch(() => {});
  }

  async #writeAll(batch: Uint8Array[]): Promise<void> {
    if (batch.length === 0) return;
    const expected = batch.reduce((sum, chunk) => sum + chunk.length, 0);
    const { bytesWritten } = await this.#handle.writev(batch);
    if (bytesWritten === expected) return;
    const rest = Buffer.concat(batch).subarray(bytesWritten);
    await this.#handle.writeFile(rest);
  }

  async flush(): Promise<void> {
    await this.#writing;
    this.#startWrite();
    await this.#writing;
    await this.#handle.sync();
  }

  /** Each chunk lies in one buffer that the next one overwrites. */
  readBack(): AsyncIterable<Uint8Array> {
    return readChunks(this.#handle);
  }

  async commit(id: string): Promise<void> {
    await this.#close();
    await this.#blobs.adopt(this.path, id);
    this.#committed = true;
  }

  async discard(): Promise<void> {
    if (this.#committed) return;
    await this.#writing.catch(() => {});
    await this.#close();
    await rm(this.path, { force: true });
  }

  async #close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    await this.#handle.close();
  }
}

/** The bytes of a file, which is closed when they end or nobody wants more. */
async function* chunksOf(handle: FileHandle, range: ByteRange | undefined): AsyncGenerator<Buffer> {
  try {
    let position = range?.start ?? 0;
    const end = range === undefined ? Number.POSITIVE_INFINITY : range.end + 1;
    while (position < end) {
      const length = Math.min(READ_CHUNK, end - position);
      const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafeSlow(length), 0, length, position);
      if (bytesRead === 0) return;
      position += bytesRead;
      yield bytesRead === length ? buffer : buffer.subarray(0, bytesRead);
      countBuffered(bytesRead);
    }
  } finally {
    await handle.close();
  }
}

/** Blobs as files of one folder: `incoming/` for what is arriving, `<two digits>/<id>` for what is there. */
export class DiskBlobs implements Blobs {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  get #incoming(): string {
    return join(this.#folder, "incoming");
  }

  /** The last two digits of an id are random, its first ones the time. */
  #pathOf(id: string): string {
    return join(this.#folder, id.slice(-2), id);
  }

  async prepare(): Promise<void> {
    await mkdir(this.#incoming, { recursive: true, mode: 0o700 });
  }

  async create(): Promise<IncomingBlob> {
    const path = join(this.#incoming, `${randomBytes(12).toString("hex")}.part`);
    return new IncomingFile(this, path, await open(path, "wx+", 0o600));
  }

  /** Moves a flushed file under its id, durably. */
  async adopt(path: string, id: string): Promise<void> {
    const destination = this.#pathOf(id);
    const created = await mkdir(dirname(destination), { recursive: true, mode: 0o700 });
    await rename(path, destination);
    await syncFolder(dirname(destination));
    if (created !== undefined) await syncFolder(this.#folder);
  }

  async read(id: string, range?: ByteRange): Promise<Readable> {
    const handle = await open(this.#pathOf(id), "r");
    return Readable.from(chunksOf(handle, range), { objectMode: false, highWaterMark: 2 * READ_CHUNK });
  }

  async remove(id: string): Promise<void> {
    await rm(this.#pathOf(id), { force: true });
  }

  async check(): Promise<void> {
    await access(this.#incoming, constants.W_OK);
  }

  async sweep(isKnown: (ids: string[]) => Promise<Set<string>>, minimumAge: number): Promise<{ removed: number }> {
    const before = Date.now() - minimumAge;
    let removed = 0;
    const removeIfOld = async (path: string) => {
      const facts = await stat(path).catch(() => undefined);
      if (facts === undefined || facts.mtimeMs > before) return;
      await rm(path, { force: true });
      removed += 1;
    };
    for (const name of await readdir(this.#incoming)) await removeIfOld(join(this.#incoming, name));
    for (const folder of await readdir(this.#folder)) {
      if (!/^[0-9a-f]{2}$/.test(folder)) continue;
      const ids = await readdir(join(this.#folder, folder));
      for (let start = 0; start < ids.length; start += SWEEP_BATCH) {
        const batch = ids.slice(start, start + SWEEP_BATCH);
        const known = await isKnown(batch);
        for (const id of batch) if (!known.has(id)) await removeIfOld(this.#pathOf(id));
      }
    }
    return { removed };
  }
}
