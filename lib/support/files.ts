import { randomBytes } from "node:crypto";
import { constants, read, type Stats, statSync } from "node:fs";
import { link, lstat, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";

/** True for the error of a path that does not exist. Every other error of a file system is a reason to stop. */
export function missing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ENOTDIR";
}

/** Describes in a few words why a file cannot be read. */
export function readFault(error: unknown): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case "ENOENT":
      return "there is no such file";
    case "ENOTDIR":
      return "a part of its path is not a folder";
    case "EISDIR":
      return "it is a folder";
    case "EACCES":
    case "EPERM":
      return "you may not read it";
    case "ENXIO":
      return "it is a socket, or a device that is not there";
    case "ECONNABORTED":
    case "EIO":
    case "ENODEV":
    case "ENOTCONN":
      return "the device does not answer";
    default:
      return (error as Error).message;
  }
}

/** Describes in a few words why a file cannot be written. */
export function writeFault(error: unknown): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case "EEXIST":
      return "something else stands in its place";
    case "EROFS":
      return "it can only be read";
    case "ENOSPC":
    case "EDQUOT":
      return "it is full";
    case "EACCES":
    case "EPERM":
      return "you may not write it";
    default:
      return readFault(error);
  }
}

/** Resolves as `work` does, or to `undefined` when the path that it works on does not exist. */
export async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (missing(error)) return undefined;
    throw error;
  }
}

/** Returns the names in a folder; none if it does not exist. */
export const namesIn = async (folder: string): Promise<string[]> => (await ifThere(readdir(folder))) ?? [];

/** Returns whether any user may pass through all folders above a path. */
export function othersReach(path: string): boolean {
  const parent = dirname(path);
  return parent === path || ((statSync(parent).mode & 0o001) !== 0 && othersReach(parent));
}

/** True for a folder itself and for every path below it; both are absolute. */
export const isInside = (path: string, folder: string): boolean => path === folder || path.startsWith(folder + sep);

/** Returns the stats of a path without following a link at its end, or undefined if it does not exist. */
export const statsOf = (path: string): Promise<Stats | undefined> => ifThere(lstat(path));

/**
 * Makes a folder and missing ones above it. Node's own recursive `mkdir` never returns below a file system that answers
 * ENOENT to every `mkdir`, such as /proc.
 *
 * @param mode of all folders that are made
 * @returns the topmost folder that was made, or undefined for none
 */
export async function makeFolder(path: string, mode = 0o777): Promise<string | undefined> {
  const folder = resolve(path);
  const make = async (): Promise<boolean> => {
    try {
      await mkdir(folder, { mode });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      // A link to a folder counts as one.
      if (!(await stat(folder)).isDirectory()) throw error;
      return false;
    }
  };
  try {
    return (await make()) ? folder : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || dirname(folder) === folder) throw error;
  }
  const first = await makeFolder(dirname(folder), mode);
  await make();
  return first ?? folder;
}

/**
 * Makes a folder for its owner alone. Missing ones above it get the usual mode: a service has to pass through
 * `/etc/sealift`, though the folder of keys in it is private.
 */
export async function makePrivateFolder(path: string): Promise<void> {
  await makeFolder(dirname(resolve(path)));
  await makeFolder(path, 0o700);
}

/** Makes the entries of a folder durable: a rename is on disk only after its folder was synced. */
export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, "r");
  await folder.sync();
}

/**
 * Replaces `path` atomically: a crash leaves the old or the new content. `mode` is exact, whatever the umask. Without
 * `durable` nothing is synced, and a power cut may leave an empty file.
 */
export async function writeFileAtomic(
  path: string,
  data: string | Uint8Array,
  { mode = 0o644, durable = true } = {},
): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}.tmp`);
  try {
    {
      await using file = await open(temporary, "wx", mode);
      await file.chmod(mode);
      await file.writeFile(data);
      if (durable) await file.sync();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  if (durable) await syncFolder(dirname(path));
}

const halfMade = (path: string): string => join(dirname(path), `.${basename(path)}.new`);

/** Removes what a kill has left of a file that {@link createPrivateFile} was making. */
export const removeHalfMade = (path: string): Promise<void> => rm(halfMade(path), { force: true });

/**
 * Makes a file for its owner alone, whole and on the disk, or not at all.
 *
 * @throws the file system's error, `EEXIST` for a file that is there
 */
export async function createPrivateFile(path: string, data: string): Promise<void> {
  const temporary = halfMade(path);
  await removeHalfMade(path);
  try {
    {
      await using file = await open(temporary, "wx", 0o600);
      await file.writeFile(data);
      await file.sync();
    }
    await link(temporary, path);
  } finally {
    await removeHalfMade(path);
  }
  await syncFolder(dirname(path));
}

/** Longest silence of a pipe or terminal that is read as a file, in milliseconds. */
const SILENCE_MS = 60_000;
/** Time in which a writer that waited for a reader opens the pipe, in milliseconds. */
const WRITER_MS = 300;
/** Wait between two looks at a silent pipe, in milliseconds. */
const LOOK_MS = 20;
const CHUNK_BYTES = 64 * 1024;

const readInto = promisify(read);

/** Reads what a descriptor gives next; undefined while a pipe or terminal has nothing. */
async function readNext(descriptor: number): Promise<Buffer | undefined> {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  try {
    const { bytesRead } = await readInto(descriptor, chunk, 0, chunk.length, null);
    return chunk.subarray(0, bytesRead);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return undefined;
    throw error;
  }
}

async function readWhole(descriptor: number, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let heardAt = performance.now();
  for (;;) {
    const chunk = await readNext(descriptor);
    if (chunk?.length === 0) return Buffer.concat(chunks);
    if (chunk === undefined) {
      if (performance.now() - heardAt > SILENCE_MS)
        throw new Error(`nothing came from it for ${SILENCE_MS / 1000} seconds`);
      await setTimeout(LOOK_MS);
      continue;
    }
    heardAt = performance.now();
    bytes += chunk.length;
    if (bytes > maxBytes) throw new RangeError(`it is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
}

/**
 * Reads a file of at most `maxBytes`. A pipe may stand in its place, as a shell's `<(…)`, but its writer must be there:
 * without one, a pipe ends at once.
 *
 * @throws RangeError when it is larger; Error for a pipe that gives nothing; the file system's error when it cannot be
 *   read
 */
export async function readFileUpTo(path: string, maxBytes: number): Promise<Buffer> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  let content = await readWhole(file.fd, maxBytes);
  if (content.length > 0 || !(await file.stat()).isFIFO()) return content;
  for (const end = performance.now() + WRITER_MS; content.length === 0 && performance.now() < end;) {
    await setTimeout(LOOK_MS);
    content = await readWhole(file.fd, maxBytes);
  }
  if (content.length === 0) throw new Error("it is a pipe, and nothing came from it");
  return content;
}

/** Reads a text file of at most `maxBytes`. @throws as {@link readFileUpTo} does */
export const readTextFile = async (path: string, maxBytes: number): Promise<string> =>
  (await readFileUpTo(path, maxBytes)).toString("utf8");

/** Largest key, credential or certificate file that is read, in bytes. */
const MAX_KEY_FILE_BYTES = 1024 * 1024;

/** Reads a file of keys, credentials or certificates, of at most 1 MiB. @throws as {@link readFileUpTo} does */
export const readKeyFile = (path: string): Promise<Buffer> => readFileUpTo(path, MAX_KEY_FILE_BYTES);

/** Reads a key or credential of at most 1 MiB from standard input. @throws as {@link readFileUpTo} does */
export const readKeyInput = (): Promise<Buffer> => readWhole(0, MAX_KEY_FILE_BYTES);
