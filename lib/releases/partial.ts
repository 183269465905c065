import { constants, type Stats } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { basename, dirname } from "node:path";
import * as z from "zod";
import { later } from "../contract/later.ts";
import type { TargetName } from "../contract/target.ts";
import { safelyParsed } from "../support/documents/safe-parse.ts";
import { makeFolder, missing, statsOf } from "../support/files.ts";
import type { Layout } from "./layout.ts";
import { type OpenFolder, openFolder, removeTree } from "./open-folder.ts";

/** ETag that may stand in a request (RFC 9110, 8.8.3). */
const ETAG = /^(?:W\/)?"[\x21\x23-\x7e]*"$/;

/** First part of `partial/<target>` (docs/contract/host.md#partial-downloads): JSON, filled up with blanks. */
const header = later(() =>
  z.object({
    v: z.literal(1),
    version: z.string(),
    /** Signature of the bytes: that of the sealed artifact or delta; the HMAC for an archive. */
    signature: z.string(),
    /** Size of the whole download, in bytes. */
    size: z.int().positive(),
    /** ETag of the whole download; null for none. It goes into requests. */
    etag: z.string().regex(ETAG).nullable(),
    /** Offset of the first byte that is kept; the bytes before it are a hole. */
    from: z.int().positive(),
    /** Start of the keeping. */
    at: z.iso.datetime(),
  }),
);
/** Description of a partial download. */
export type PartialHeader = z.infer<typeof header>;

/** Returns an ETag that can be kept; null for one that cannot. */
export const keptEtag = (etag: string | undefined): string | null =>
  etag !== undefined && etag.length <= 1024 && ETAG.test(etag) ? etag : null;

/** Size of the header, in bytes: the download's first byte lies behind it. */
const HEADER_BYTES = 4096;
/** Age after which a partial download is removed, in milliseconds. */
const MAX_AGE_MS = 14 * 24 * 3_600_000;
const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR } = constants;

/** Partial download of a target that is open. Its bytes are not trusted: anybody may have written them. */
export class PartialFile implements AsyncDisposable {
  readonly #file: FileHandle;
  #header: PartialHeader;
  /** Offset after the last byte that is kept. */
  #end: number;

  private constructor(file: FileHandle, found: PartialHeader, end: number) {
    this.#file = file;
    this.#header = found;
    this.#end = end;
  }

  get header(): Readonly<PartialHeader> {
    return this.#header;
  }

  get end(): number {
    return this.#end;
  }

  /**
   * Begins a partial download in place of an earlier one, which may be anything.
   *
   * @throws the file system's error; RangeError for a header that is too long
   */
  static async create(layout: Layout, target: TargetName, begun: PartialHeader): Promise<PartialFile> {
    const bytes = headerBytes(begun);
    const path = layout.partial(target);
    await makeFolder(dirname(path), 0o700);
    await using folder = await openFolder(dirname(path));
    await removeTree(folder.path(basename(path)));
    const file = await open(folder.path(basename(path)), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      await file.chmod(0o600);
      await file.write(bytes, 0, HEADER_BYTES, 0);
      return new PartialFile(file, begun, begun.from);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /**
   * Opens the partial download of a target; undefined where there is none, or anything else in its place: a link, a
   * pipe, another user's file, another format, one that is older than 14 days.
   *
   * @param mode `r` to look at it only
   */
  static async open(layout: Layout, target: TargetName, mode: "r" | "r+" = "r+"): Promise<PartialFile | undefined> {
    const path = layout.partial(target);
    const file = await openRegular(path, mode).catch(() => undefined);
    if (file === undefined) return undefined;
    try {
      const { size } = await file.stat();
      const found = await readHeader(file);
      const end = Math.min(size - HEADER_BYTES, found?.size ?? 0);
      const age = found === undefined ? Infinity : Date.now() - Date.parse(found.at);
      // A hole of a file that was cut off is no byte of the download. A clock that was set back makes nothing younger.
      if (found !== undefined && end > found.from && Math.abs(age) < MAX_AGE_MS)
        return new PartialFile(file, found, end);
    } catch {
      // Unreadable, as on a disk with faults: nothing is kept.
    }
    await file.close();
    return undefined;
  }

  /** Streams the bytes from an offset to another. @throws the file system's error */
  read(from: number, end: number): AsyncIterable<Buffer> {
    const range = { start: HEADER_BYTES + from, end: HEADER_BYTES + end - 1 };
    const options = { ...range, autoClose: false, emitClose: false, highWaterMark: 256 * 1024 };
    return this.#file.createReadStream(options) as AsyncIterable<Buffer>;
  }

  /**
   * Writes a piece at its place. What closes the gap before the kept bytes is noted.
   *
   * @param at offset in the download, not after {@link end}
   * @throws the file system's error
   */
  async write(piece: Buffer, at: number): Promise<void> {
    for (let done = 0; done < piece.length;) {
      const { bytesWritten } = await this.#file.write(piece, done, piece.length - done, HEADER_BYTES + at + done);
      done += bytesWritten;
    }
    this.#end = Math.max(this.#end, at + piece.length);
  }

  /** Notes that the bytes before the kept ones were written, too. @throws the file system's error */
  async closeGap(): Promise<void> {
    const whole = { ...this.#header, from: 1 };
    // After a power cut a header that is newer than the bytes would only cost another download.
    await this.#file.datasync();
    await this.#file.write(headerBytes(whole), 0, HEADER_BYTES, 0);
    this.#header = whole;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#file.close();
  }
}

/** @throws RangeError for a header that is too long */
function headerBytes(value: PartialHeader): Buffer {
  const text = JSON.stringify(value);
  if (Buffer.byteLength(text) >= HEADER_BYTES) throw new RangeError("its description is too long");
  const bytes = Buffer.alloc(HEADER_BYTES, " ");
  bytes.write(text);
  bytes[HEADER_BYTES - 1] = 0x0a;
  return bytes;
}

async function readHeader(file: FileHandle): Promise<PartialHeader | undefined> {
  // Bytes that a file which was cut off lacks stay 0, which stands in no JSON.
  const bytes = Buffer.alloc(HEADER_BYTES);
  await file.read(bytes, 0, HEADER_BYTES, 0);
  return safelyParsed(header, JSON.parse(bytes.toString("utf8"))).data;
}

/** Opens a regular file that has one name, and for writing is this user's own. @throws the file system's error */
async function openRegular(path: string, mode: "r" | "r+"): Promise<FileHandle | undefined> {
  await using folder = await openFolder(dirname(path));
  const flags = (mode === "r" ? O_RDONLY : O_RDWR) | O_NOFOLLOW | O_NONBLOCK;
  const file = await open(folder.path(basename(path)), flags);
  const stats = await file.stat();
  const isOurs = mode === "r" || process.geteuid === undefined || stats.uid === process.geteuid();
  // Another name may be that of a file which must not be written.
  if (stats.isFile() && stats.nlink === 1 && isOurs) return file;
  await file.close();
  return undefined;
}

/** Partial download as it is shown. */
export interface ShownPartial {
  version: string;
  /** Bytes that are kept, and those of the whole download. */
  bytes: number;
  size: number;
  at: string;
}

/** Describes the partial download of a target; undefined for none. */
export async function readPartial(layout: Layout, target: TargetName): Promise<ShownPartial | undefined> {
  await using file = await PartialFile.open(layout, target, "r");
  if (file === undefined) return undefined;
  const { version, from, size, at } = file.header;
  return { version, bytes: file.end - from, size, at };
}

/**
 * Opens the folder of partial downloads. Returns undefined for none, and for a link or a file in its place: either is
 * left alone.
 *
 * @throws the file system's error
 */
const openPlace = (path: string): Promise<OpenFolder | undefined> =>
  openFolder(path).catch((error: NodeJS.ErrnoException) => {
    if (missing(error) || error.code === "ELOOP") return undefined;
    throw error;
  });

/** Returns the stats of what stands in the place of a target's partial download, without following any link. */
async function statsOfPartial(layout: Layout, target: TargetName): Promise<Stats | undefined> {
  const path = layout.partial(target);
  await using folder = await openPlace(dirname(path));
  return folder && (await statsOf(folder.path(basename(path))));
}

/** Tells whether anything stands in the place of a target's partial download. @throws the file system's error */
export const hasPartial = async (layout: Layout, target: TargetName): Promise<boolean> =>
  (await statsOfPartial(layout, target)) !== undefined;

/** Removes the partial download of a target, or what stands in its place. @throws the file system's error */
export async function dropPartial(layout: Layout, target: TargetName): Promise<void> {
  const path = layout.partial(target);
  await using folder = await openPlace(dirname(path));
  if (folder !== undefined) await removeTree(folder.path(basename(path)));
}

/** Age below which a file without a readable header may be one that another run is just making, in milliseconds. */
const JUST_MADE_MS = 60_000;

/** Tells whether no run will use what stands in the place of a partial download, such as one that is too old. */
export async function isUselessPartial(layout: Layout, target: TargetName): Promise<boolean> {
  const stats = await statsOfPartial(layout, target);
  if (stats === undefined || Date.now() - stats.mtimeMs < JUST_MADE_MS) return false;
  return (await readPartial(layout, target)) === undefined;
}
