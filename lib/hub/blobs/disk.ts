import { constants } from "node:fs";
import { access, type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { syncFolder } from "../../support/files.ts";
import { countBuffered } from "../buffer-collection.ts";
import { IncomingFile } from "./incoming-file.ts";
import type { Blobs, ByteRange, IncomingBlob } from "./port.ts";

const READ_CHUNK_BYTES = 256 * 1024;
const SWEEP_BATCH = 500;

/** The bytes of a file, which is closed when they end or nobody wants more. */
async function* chunksOf(handle: FileHandle, range: ByteRange | undefined): AsyncGenerator<Buffer> {
  try {
    let position = range?.start ?? 0;
    const end = range === undefined ? Number.POSITIVE_INFINITY : range.end + 1;
    while (position < end) {
      const length = Math.min(READ_CHUNK_BYTES, end - position);
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

  create(): Promise<IncomingBlob> {
    return IncomingFile.create(this.#incoming, (path, id) => this.#adopt(path, id));
  }

  async #adopt(path: string, id: string): Promise<void> {
    const destination = this.#pathOf(id);
    const created = await mkdir(dirname(destination), { recursive: true, mode: 0o700 });
    await rename(path, destination);
    await syncFolder(dirname(destination));
    if (created !== undefined) await syncFolder(this.#folder);
  }

  async read(id: string, range?: ByteRange): Promise<Readable> {
    const handle = await open(this.#pathOf(id), "r");
    return Readable.from(chunksOf(handle, range), { objectMode: false, highWaterMark: 2 * READ_CHUNK_BYTES });
  }

  async remove(id: string): Promise<void> {
    await rm(this.#pathOf(id), { force: true });
  }

  async check(): Promise<void> {
    await access(this.#incoming, constants.W_OK);
  }

  async sweep(isKnown: (ids: string[]) => Promise<Set<string>>, minAgeMs: number): Promise<{ removed: number }> {
    const before = Date.now() - minAgeMs;
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
