import { createHash } from "node:crypto";
import { type FileHandle, open, readdir, rename, rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { usageError } from "../contract/errors.ts";
import { makeFolder, missing } from "../support/files.ts";
import { tryLock } from "../support/process-lock.ts";

/** Shortest interval between two updates of an entry's last use, in milliseconds. */
const TOUCH_INTERVAL_MS = 60_000;
const CHUNK_BYTES = 1024 * 1024;

interface Entry {
  size: number;
  /** State of the file when its digest was last verified; undefined before the first check of this process. */
  stamp: string | undefined;
  /** Settles when a check under way is over. */
  checking: Promise<void> | undefined;
  isWrong: boolean;
  touchedAt: number;
}

const newEntry = (size: number, stamp: string | undefined, touchedAt: number): Entry => ({
  ...{ size, stamp, touchedAt },
  checking: undefined,
  isWrong: false,
});

/** Bytes of the quota reserved for a download in progress. */
export interface Reservation extends Disposable {
  /** File that the download writes. */
  path: string;
}

/**
 * Ciphertext in a folder, each file named by the SHA-256 of its bytes. Files are renamed into place, so none is ever
 * incomplete; the least recently used ones are evicted for room. A file that has changed since its digest was verified
 * is checked again.
 */
export class ArtifactCache implements Disposable {
  readonly #folder: string;
  readonly #quotaBytes: number;
  readonly #lock: Disposable;
  /** Entries, the least recently used first. */
  readonly #entries = new Map<string, Entry>();
  #usedBytes = 0;
  #evicted = 0;
  #damaged = 0;
  #reservedBytes = 0;
  #incoming = 0;

  private constructor(folder: string, quotaBytes: number, lock: Disposable) {
    this.#folder = folder;
    this.#quotaBytes = quotaBytes;
    this.#lock = lock;
  }

  /**
   * Opens a folder, which is made when it is missing.
   *
   * @throws UsageError `config_invalid` when it cannot be used, or another mirror uses it
   */
  static async open(folder: string, quotaBytes: number): Promise<ArtifactCache> {
    let lock: Disposable | undefined;
    try {
      await makeFolder(folder, 0o700);
      lock = tryLock(join(folder, "lock"));
      if (lock !== undefined) {
        const cache = new ArtifactCache(folder, quotaBytes, lock);
        await cache.#load();
        return cache;
      }
    } catch (cause) {
      lock?.[Symbol.dispose]();
      throw usageError("config_invalid", `The folder ${folder} cannot be a cache: ${(cause as Error).message}.`, {
        cause,
        hint: "Give a --cache-dir that this user can write.",
      });
    }
    throw usageError("config_invalid", `Another mirror uses the folder ${folder}.`, {
      hint: "Give each mirror a --cache-dir of its own.",
    });
  }

  async #load(): Promise<void> {
    // Left by a download that was killed.
    await rm(join(this.#folder, "incoming"), { recursive: true, force: true });
    for (const name of ["incoming", "artifacts"]) await makeFolder(join(this.#folder, name), 0o700);
    const names = (await readdir(join(this.#folder, "artifacts"))).filter((name) => /^[0-9a-f]{64}$/.test(name));
    const found: { name: string; size: number; mtimeMs: number }[] = [];
    for (const name of names) {
      const { size, mtimeMs } = await stat(this.#pathOf(name));
      found.push({ name, size, mtimeMs });
    }
    for (const { name, size, mtimeMs } of found.toSorted((a, b) => a.mtimeMs - b.mtimeMs)) {
      this.#entries.set(name, newEntry(size, undefined, mtimeMs));
      this.#usedBytes += size;
    }
    await this.#dropUntil(() => this.#usedBytes <= this.#quotaBytes);
  }

  /** Returns bytes and files held, and the numbers of files evicted for room and removed for damage since the start. */
  usage(): { bytes: number; files: number; evicted: number; damaged: number } {
    return { bytes: this.#usedBytes, files: this.#entries.size, evicted: this.#evicted, damaged: this.#damaged };
  }

  #pathOf(sha256: string): string {
    return join(this.#folder, "artifacts", sha256);
  }

  /** Opens the file of a digest. Returns undefined when there is none, or when its bytes are damaged. */
  async open(sha256: string, size: number): Promise<FileHandle | undefined> {
    const entry = this.#entries.get(sha256);
    if (entry === undefined) return undefined;
    let handle: FileHandle;
    try {
      handle = await open(this.#pathOf(sha256), "r");
    } catch (error) {
      if (!missing(error)) throw error;
      await this.#drop(sha256, entry);
      return undefined;
    }
    try {
      if (await isWhole(handle, entry, sha256, size)) {
        await touch(handle, entry);
        if (this.#entries.delete(sha256)) this.#entries.set(sha256, entry);
        return handle;
      }
    } catch (error) {
      await handle.close();
      throw error;
    }
    await handle.close();
    if (await this.#drop(sha256, entry)) this.#damaged++;
    return undefined;
  }

  /** Makes room for an entry. Returns undefined when the quota or the disk has none. */
  async reserve(size: number): Promise<Reservation | undefined> {
    if (this.#reservedBytes + size > this.#quotaBytes) return undefined;
    this.#reservedBytes += size;
    const path = join(this.#folder, "incoming", String(this.#incoming++));
    const release = (): void => void (this.#reservedBytes -= size);
    try {
      await this.#dropUntil(() => this.#usedBytes + this.#reservedBytes <= this.#quotaBytes);
      const lacking = size - (await this.#freeBytes());
      const goal = this.#usedBytes - lacking;
      if (lacking > 0) await this.#dropUntil(() => this.#usedBytes <= goal);
      if (lacking <= 0 || size <= (await this.#freeBytes())) return { path, [Symbol.dispose]: release };
    } catch (error) {
      release();
      throw error;
    }
    release();
    return undefined;
  }

  async #freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.#folder);
    return bavail * bsize;
  }

  /** Adds a file whose digest has been verified. */
  async admit(path: string, sha256: string, size: number): Promise<void> {
    await rename(path, this.#pathOf(sha256));
    const stamp = stampOf(await stat(this.#pathOf(sha256), { bigint: true }));
    this.#usedBytes += size - (this.#entries.get(sha256)?.size ?? 0);
    this.#entries.delete(sha256);
    this.#entries.set(sha256, newEntry(size, stamp, Date.now()));
  }

  /** Removes the least recently used entries until there is room, or none is left. */
  async #dropUntil(isEnough: () => boolean): Promise<void> {
    for (const [sha256, entry] of this.#entries) {
      if (isEnough()) return;
      if (await this.#drop(sha256, entry)) this.#evicted++;
    }
  }

  /** Removes a file. Returns whether it was there; readers can finish reading it. */
  async #drop(sha256: string, entry: Entry): Promise<boolean> {
    if (this.#entries.get(sha256) !== entry) return false;
    this.#entries.delete(sha256);
    this.#usedBytes -= entry.size;
    await rm(this.#pathOf(sha256), { force: true });
    return true;
  }

  [Symbol.dispose](): void {
    this.#lock[Symbol.dispose]();
  }
}

interface Stamped {
  ino: bigint;
  size: bigint;
  ctimeNs: bigint;
}

/** Returns a text that differs once the file has been written to: only root can set the change time. */
const stampOf = ({ ino, size, ctimeNs }: Stamped): string => `${ino}:${size}:${ctimeNs}`;

async function isWhole(handle: FileHandle, entry: Entry, sha256: string, size: number): Promise<boolean> {
  const found = await handle.stat({ bigint: true });
  if (found.size !== BigInt(size)) return false;
  const stamp = stampOf(found);
  // Many agents may ask at once: the file is read once for all of them.
  while (entry.checking !== undefined) await entry.checking;
  if (entry.isWrong) return false;
  if (entry.stamp === stamp) return true;
  const { promise, resolve } = Promise.withResolvers<void>();
  entry.checking = promise;
  try {
    if ((await digestOf(handle)) === sha256) entry.stamp = stamp;
    else entry.isWrong = true;
    return !entry.isWrong;
  } finally {
    entry.checking = undefined;
    resolve();
  }
}

async function digestOf(handle: FileHandle): Promise<string> {
  const hash = createHash("sha256");
  const bytes = handle.createReadStream({ start: 0, autoClose: false, highWaterMark: CHUNK_BYTES });
  for await (const chunk of bytes) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

/** Stores the time of use for the next start of a mirror. */
async function touch(handle: FileHandle, entry: Entry): Promise<void> {
  const now = Date.now();
  if (now - entry.touchedAt < TOUCH_INTERVAL_MS) return;
  entry.touchedAt = now;
  await handle.utimes(new Date(now), new Date(now));
  entry.stamp = stampOf(await handle.stat({ bigint: true }));
}
