import { closeSync, fstatSync, openSync } from "node:fs";
import { Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Entry as NamedEntry, fromReader, Reader, type Zip } from "yauzl-promise";
import { artifactError, type SealiftError } from "../../contract/errors.ts";
import { paceBuffers } from "../../support/buffer-pacing.ts";
import { quoted } from "../tree/safe-path.ts";
import type { ZipIndex } from "./directory.ts";
import { FileWindow } from "./file-window.ts";
import type { ZipMember } from "./member-table.ts";
import { isSmall, largeContent, type PackedMembers, smallContent } from "./unzip-member.ts";

/** Bytes of a large member read at a time. */
const PIECE_BYTES = 256 * 1024;
/** Entries handled before yielding to the event loop. */
const TURN_ENTRIES = 200;

/** Lets yauzl-promise read a file by plain calls: a round trip to the thread pool for each entry takes longer. */
class WindowReader extends Reader {
  readonly #window: FileWindow;

  constructor(descriptor: number) {
    super();
    this.#window = new FileWindow(descriptor);
  }

  override async _read(start: number, length: number): Promise<Buffer> {
    const found = this.#window.read(start, length);
    if (found.length < length) throw new Error("it ends early");
    // The reader keeps the buffer.
    return Buffer.from(found);
  }

  override _createReadStream(start: number, length: number): Readable {
    return Readable.from(this.#pieces(start, start + length), { objectMode: false });
  }

  /** Yields pieces of the file. Not a file stream: destroying one closes its descriptor, `autoClose: false` or not. */
  *#pieces(start: number, end: number): Generator<Buffer> {
    for (let at = start; at < end; at += PIECE_BYTES)
      yield Buffer.from(this.#window.read(at, Math.min(PIECE_BYTES, end - at)));
  }
}

/** Locates the bytes of an entry without reading them. */
class PlaceReader extends WindowReader {
  override _createReadStream(): Readable {
    return new Readable({ read() {} });
  }
}

/** Options of the reader: names stay bytes, since decoding is not its task. */
const OPTIONS = { decodeStrings: false, validateFilenames: false } as const;
type Entry = NamedEntry<Buffer>;

const nameOf = ({ filename }: Entry): string => filename.toString("utf8");
const pathOf = (name: string): string => name.replace(/^\.\//, "").replace(/\/$/, "");

const isSame = (member: ZipMember, entry: Entry): boolean =>
  member.path === pathOf(nameOf(entry)) &&
  member.method === entry.compressionMethod &&
  member.compressedSize === entry.compressedSize &&
  member.uncompressedSize === entry.uncompressedSize &&
  member.crc32 === entry.crc32 &&
  member.dataOffset === entry.fileDataOffset;

const stream = (entry: Entry): Promise<Readable> => entry.openReadStream({ decompress: false, validateCrc32: false });

/** Opens the packed bytes of members, as yauzl-promise finds them. */
export class MemberStreams implements PackedMembers {
  readonly #descriptor: number;
  #zip: Zip<Buffer> | undefined;

  /** @param descriptor of a scanned archive; the caller closes it */
  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /**
   * Opens a member; members are opened in archive order.
   *
   * @throws Error when the reader does not find it where the scan did
   */
  async open(member: ZipMember): Promise<Readable> {
    this.#zip ??= await fromReader(new WindowReader(this.#descriptor), fstatSync(this.#descriptor).size, OPTIONS);
    for (let entry = await this.#zip.readEntry(); entry !== null; entry = await this.#zip.readEntry()) {
      if (pathOf(nameOf(entry)) !== member.path) continue;
      const found = await stream(entry);
      if (isSame(member, entry)) return found;
      found.destroy();
      break;
    }
    throw new Error("a second reader does not find it there");
  }
}

const ambiguous = (why: string): SealiftError =>
  artifactError("zip_ambiguous", `Two readers see other things in the archive: ${why}.`, {
    hint: "Pack it again with another program.",
  });

/**
 * Compares a scanned archive with what yauzl-promise reads: the same names in the same order, and for each file the
 * same place, sizes, method and CRC, hence the same bytes.
 *
 * @throws ArtifactError `zip_ambiguous`
 */
export async function requireSecondOpinion(path: string, { files, folders, skippedLinks }: ZipIndex): Promise<void> {
  const descriptor = openSync(path, "r");
  try {
    const known = new Set(folders).add("");
    let [file, link] = [0, 0];
    for await (const entry of entriesOf(descriptor)) {
      const name = nameOf(entry);
      if (name.endsWith("/") && known.has(pathOf(name))) continue;
      if (skippedLinks[link] === name) {
        link++;
        continue;
      }
      if (file === files.length || !isSame(files.at(file++), entry)) throw ambiguous(`one of them is ${quoted(name)}`);
      if (file % TURN_ENTRIES === 0) await nextTurn();
    }
    if (file < files.length) throw ambiguous(`one of them is ${quoted(files.at(file).path)}`);
    if (link < skippedLinks.length) throw ambiguous(`one of them is ${quoted(skippedLinks[link]!)}`);
  } finally {
    closeSync(descriptor);
  }
}

/** Yields the entries of an archive with the places of their bytes. @throws ArtifactError `zip_ambiguous` */
async function* entriesOf(descriptor: number): AsyncGenerator<Entry> {
  const refused = (error: unknown): never => {
    throw ambiguous(`the second one refuses it (${(error as Error).message})`);
  };
  const zip = await fromReader(new PlaceReader(descriptor), fstatSync(descriptor).size, OPTIONS).catch(refused);
  for (;;) {
    const entry = await zip.readEntry().catch(refused);
    if (entry === null) return;
    const found = await stream(entry).catch(refused);
    found.destroy();
    yield entry;
  }
}

/** Bytes inflated before yielding to the event loop. */
const TURN_BYTES = 1024 * 1024;
const WINDOW_BYTES = 256 * 1024;

/**
 * Inflates every file of a scanned archive and compares sizes and CRCs, as unpacking does, without writing anything.
 *
 * @throws ArtifactError `zip_invalid`
 */
export async function checkContents(path: string, { files }: ZipIndex): Promise<void> {
  const descriptor = openSync(path, "r");
  try {
    const archive = new FileWindow(descriptor, WINDOW_BYTES);
    const streams = new MemberStreams(descriptor);
    const pace = paceBuffers("inflated");
    let sinceTurn = 0;
    for (const member of files) {
      if (!isSmall(member)) {
        await largeContent(streams, member, () => {});
        continue;
      }
      const { length } = smallContent(archive, member);
      pace(length);
      sinceTurn += length + 4096;
      if (sinceTurn < TURN_BYTES) continue;
      sinceTurn = 0;
      await nextTurn();
    }
  } finally {
    closeSync(descriptor);
  }
}
