import { randomBytes } from "node:crypto";
import { type FileHandle, link, open, readdir, readFile, rename, rm, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { makeFolder, missing, statsOf, syncFolder, writeFileAtomic } from "../../support/files.ts";
import type { ByteRange } from "../../support/network/byte-ranges.ts";
import { countBuffered } from "../base/buffer-collection.ts";
import { blobName, isBlobId } from "../base/identity.ts";
import { IncomingFolder } from "./incoming-folder.ts";
import type { BlobEntry, Blobs, IncomingBlob, KeptFile } from "./port.ts";

/** File beside the blobs that names the database they belong to. */
const OWNER_FILE = "sealift-database";
const READ_CHUNK_BYTES = 256 * 1024;

/** Streams a file, which stays open. */
async function* chunksOf(handle: FileHandle, range: ByteRange | undefined): AsyncGenerator<Buffer> {
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
}

/** Blobs as files: `incoming/`, `<2 digits>/<id>`, `trash/<id>`, and `sealift-database`, which names their owner. */
export class DiskBlobs implements Blobs {
  readonly name: string;
  readonly #folder: string;
  readonly #incoming: IncomingFolder;

  constructor(folder: string) {
    this.#folder = folder;
    this.name = `the folder ${folder}`;
    this.#incoming = new IncomingFolder(join(folder, "incoming"));
  }

  get #trash(): string {
    return join(this.#folder, "trash");
  }

  /** Returns the path of a blob. The last two digits of an id are random, the first ones are its time. */
  #pathOf(id: string): string {
    return join(this.#folder, id.slice(-2), blobName(id));
  }

  #trashOf(id: string): string {
    return join(this.#trash, blobName(id));
  }

  async prepare(): Promise<void> {
    await this.#incoming.prepare();
    await makeFolder(this.#trash, 0o700);
  }

  async owner(): Promise<string | undefined> {
    try {
      return (await readFile(join(this.#folder, OWNER_FILE), "utf8")).trim();
    } catch (error) {
      if (missing(error)) return undefined;
      throw error;
    }
  }

  async claim(owner: string): Promise<string | undefined> {
    const path = join(this.#folder, OWNER_FILE);
    const own = `${path}.${randomBytes(6).toString("hex")}`;
    await writeFileAtomic(own, `${owner}\n`, { mode: 0o600 });
    try {
      // A link is created atomically: when several hubs claim the folder at the same moment, one succeeds.
      await link(own, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    } finally {
      await rm(own, { force: true });
    }
    await syncFolder(this.#folder);
    return this.owner();
  }

  create(name?: string): Promise<IncomingBlob> {
    return this.#incoming.create((path, id) => this.#adopt(path, id), name);
  }

  reopen(path: string): Promise<IncomingBlob | undefined> {
    return this.#incoming.reopen(path, (from, id) => this.#adopt(from, id));
  }

  kept(prefix: string): Promise<KeptFile[]> {
    return this.#incoming.kept(prefix);
  }

  forget(path: string): Promise<void> {
    return rm(path, { force: true });
  }

  async #adopt(path: string, id: string): Promise<void> {
    const destination = this.#pathOf(id);
    const created = await makeFolder(dirname(destination), 0o700);
    await rename(path, destination);
    await syncFolder(dirname(destination));
    if (created !== undefined) await syncFolder(this.#folder);
  }

  async read(id: string, range?: ByteRange): Promise<Readable> {
    const handle = await open(this.#pathOf(id), "r");
    const chunks = chunksOf(handle, range);
    const stream = Readable.from(chunks, { objectMode: false, highWaterMark: 2 * READ_CHUNK_BYTES });
    // A client may be gone before the first chunk is asked for, and then no `finally` of the generator runs.
    return stream.once("close", () => void handle.close());
  }

  filesOf(id: string): readonly string[] {
    const path = this.#pathOf(id);
    return [path, this.#trashOf(id), path];
  }

  async size(id: string): Promise<number | undefined> {
    const facts = await statsOf(this.#pathOf(id));
    return facts?.isFile() === true ? facts.size : undefined;
  }

  async remove(id: string): Promise<void> {
    await rm(this.#pathOf(id), { force: true });
  }

  async *list(): AsyncGenerator<BlobEntry> {
    for (const name of await readdir(this.#folder)) {
      if (/^[0-9a-f]{2}$/.test(name)) yield* entriesOf(join(this.#folder, name));
    }
  }

  async moveToTrash(id: string): Promise<void> {
    const place = this.#trashOf(id);
    const now = new Date();
    try {
      await rename(this.#pathOf(id), place);
      await utimes(place, now, now);
    } catch (error) {
      // Another hub on this folder was faster.
      if (!missing(error)) throw error;
    }
  }

  async takeBack(id: string): Promise<void> {
    try {
      await this.#adopt(this.#trashOf(id), id);
    } catch (error) {
      if (!missing(error)) throw error;
    }
  }

  listTrash(): AsyncGenerator<BlobEntry> {
    return entriesOf(this.#trash);
  }

  async removeFromTrash(id: string): Promise<void> {
    await rm(this.#trashOf(id), { force: true });
  }

  clearIncoming(minAgeMs: number): Promise<number> {
    return this.#incoming.clear(minAgeMs);
  }

  check(): Promise<void> {
    return this.#incoming.check();
  }
}

/** Yields the blobs of one folder; skips other files. */
async function* entriesOf(folder: string): AsyncGenerator<BlobEntry> {
  for (const id of await readdir(folder)) {
    if (!isBlobId(id)) continue;
    const facts = await statsOf(join(folder, id));
    if (facts !== undefined) yield { id, since: facts.mtimeMs };
  }
}
