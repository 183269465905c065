import { Readable } from "node:stream";
import { createInflateRaw } from "node:zlib";
import type { FastifyRequest } from "fastify";
import { LRUCache } from "lru-cache";
import { type Entry, fromReader, Reader } from "yauzl-promise";
import { DEFAULT_LIMITS } from "../../artifact/limits.ts";
import { safePath } from "../../artifact/tree/safe-path.ts";
import { typeOfEntry } from "../../artifact/zip/central-header.ts";
import { TopFolder } from "../../artifact/zip/top-folder.ts";
import { artifactError, SealiftError } from "../../contract/errors.ts";
import { type Descriptor, descriptor } from "../../contract/files/descriptor.ts";
import { DESCRIPTOR_FILE } from "../../contract/files/manifest.ts";
import { installTarget } from "../../contract/marketplace/routes.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import { YAML_LIMITS } from "../../support/documents/limits.ts";
import { parseForeignYaml } from "../../support/yaml-file.ts";
import { type Api, callTo, requireDone } from "./api.ts";

/** Most bytes of a README that are shown. */
const MAX_README_BYTES = 64 * 1024;
/** Most entries of an archive that are read. */
const MAX_ENTRIES = 5000;
/** Bytes of the archive read at a time. */
const PIECE_BYTES = 64 * 1024;
/** Most characters that cached contents of versions may take. */
const KEPT_CHARACTERS = 4 * 1024 * 1024;

/** File of a version, in comparable form. */
interface ListedFile {
  size: number;
  crc: number;
}

/** Contents of a published archive, as far as pages show them. */
export interface Contents {
  readme: string | undefined;
  /** Descriptor of a plugin; undefined when it cannot be shown, and for a service. */
  descriptor: Descriptor | undefined;
  /** Files by path, without the one folder that holds everything. */
  files: ReadonlyMap<string, ListedFile>;
  /** Whether there are more entries than were looked at: the agent may find another descriptor. */
  isCut: boolean;
}

interface NamedVersion {
  kind: MarketplaceKind;
  slug: string;
  version: string;
  size_bytes: number;
  /** Digest of the archive, which never changes. */
  sha256: string;
}

/** Reads an archive in pieces from the route that installs it. */
class RangeReader extends Reader {
  readonly #size: number;
  readonly #fetch: (start: number, end: number) => Promise<Buffer>;
  #piece: { start: number; bytes: Buffer } = { start: 0, bytes: Buffer.alloc(0) };

  constructor(size: number, fetch: (start: number, end: number) => Promise<Buffer>) {
    super();
    this.#size = size;
    this.#fetch = fetch;
  }

  override async _read(start: number, length: number): Promise<Buffer> {
    const { start: from, bytes } = this.#piece;
    if (start >= from && start + length <= from + bytes.length)
      return bytes.subarray(start - from, start - from + length);
    const read = await this.#fetch(start, Math.min(start + Math.max(length, PIECE_BYTES), this.#size));
    this.#piece = { start, bytes: read };
    return read.subarray(0, length);
  }

  override _createReadStream(start: number, length: number): Readable {
    return Readable.from(this.#pieces(start, start + length), { objectMode: false });
  }

  async *#pieces(start: number, end: number): AsyncGenerator<Buffer> {
    for (let at = start; at < end; at += PIECE_BYTES) yield await this._read(at, Math.min(PIECE_BYTES, end - at));
  }
}

/** Reads a file up to a bound that its entry cannot move. @returns with `isCut`, its beginning */
async function textOf(entry: Entry<Buffer>, most: number): Promise<{ text: string; isCut: boolean }> {
  const packed = await entry.openReadStream({ decompress: false, validateCrc32: false });
  const content = entry.compressionMethod === 0 ? packed : packed.compose(createInflateRaw());
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of content as AsyncIterable<Buffer>) {
    pieces.push(piece);
    if ((length += piece.length) > most) break;
  }
  return { text: Buffer.concat(pieces).subarray(0, most).toString("utf8"), isCut: length > most };
}

function charactersOf({ readme = "", files }: Contents): number {
  let characters = 4000 + readme.length;
  for (const path of files.keys()) characters += path.length + 60;
  return characters;
}

/** Reads published archives through the API: only a key that may install a version sees its contents. */
export class Archives {
  readonly #api: Api;
  readonly #kept = new LRUCache<string, Contents>({ maxSize: KEPT_CHARACTERS, sizeCalculation: charactersOf });

  constructor(api: Api) {
    this.#api = api;
  }

  /** Returns the contents of a version; undefined when the key may not install it, or its bytes cannot be read. */
  async contents(request: FastifyRequest, version: NamedVersion): Promise<Contents | undefined> {
    const { kind, slug, version: label } = version;
    const install = callTo(installTarget[kind], { params: { slug }, query: { version: label } });
    // The route decides each time; the bytes with a digest never change.
    const { status } = await this.#api.send(request, { ...install, method: "HEAD" });
    if (status !== 200) return undefined;
    // A plugin's page shows more of the same bytes than a service's.
    const key = `${version.kind} ${version.sha256}`;
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const reader = new RangeReader(version.size_bytes, async (start, end) => {
      const range = { range: `bytes=${start}-${end - 1}` };
      const answer = await this.#api.send(request, { ...install, headers: range });
      requireDone(answer);
      return answer.bytes;
    });
    const read = await readContents(reader, version);
    this.#kept.set(key, read);
    return read;
  }
}

async function readContents(reader: Reader, { kind, size_bytes: size }: NamedVersion): Promise<Contents> {
  const zip = await fromReader(reader, size, { decodeStrings: false, validateFilenames: false });
  const entries: { path: string; entry: Entry<Buffer> }[] = [];
  const top = new TopFolder();
  let count = 0;
  for await (const entry of zip) {
    if (++count > MAX_ENTRIES) break;
    const name = entry.filename.toString("utf8");
    const type = typeOfEntry(name, entry);
    // Agents leave links out.
    if (type === "link") continue;
    const path = safePath(name, DEFAULT_LIMITS);
    top.add(path, type);
    if (type === "file") entries.push({ path, entry });
  }
  const isCut = count > MAX_ENTRIES;
  const strip = top.name === undefined ? 0 : top.name.length + 1;
  const files = new Map<string, ListedFile>();
  let readme: Entry<Buffer> | undefined;
  let described: Entry<Buffer> | undefined;
  for (const { path, entry } of entries) {
    const name = path.slice(strip);
    files.set(name, { size: entry.uncompressedSize, crc: entry.crc32 });
    if (/^readme\.(md|markdown)$/i.test(name)) readme = entry;
    if (name === DESCRIPTOR_FILE) described = entry;
  }
  const isDescribed = kind === "plugin" && described !== undefined && !isCut;
  return {
    files,
    isCut,
    readme: readme && (await textOf(readme, MAX_README_BYTES)).text,
    descriptor: isDescribed ? await descriptorOf(described!) : undefined,
  };
}

/** Reads a descriptor as agents do. @returns undefined for one that they reject */
async function descriptorOf(entry: Entry<Buffer>): Promise<Descriptor | undefined> {
  const invalid = (message: string, faults: string[]) => artifactError("descriptor_invalid", message, { faults });
  try {
    const { text, isCut } = await textOf(entry, YAML_LIMITS.maxBytes);
    return isCut ? undefined : await parseForeignYaml(text, descriptor, DESCRIPTOR_FILE, invalid);
  } catch (error) {
    if (error instanceof SealiftError) return undefined;
    throw error;
  }
}
