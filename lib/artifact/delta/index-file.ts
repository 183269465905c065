import { createDecipheriv, hkdfSync } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { open, rm } from "node:fs/promises";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createZstdCompress, createZstdDecompress } from "node:zlib";
import * as z from "zod";
import { artifactError, SealiftError } from "../../contract/errors.ts";
import { projectId, semverLabel, sha256Hex } from "../../contract/identifiers.ts";
import { paceBuffers } from "../../support/buffer-pacing.ts";
import { safelyParsed } from "../../support/documents/safe-parse.ts";
import { DEFAULT_LIMITS, DEK_BYTES, type Limits, NONCE_BYTES, TAG_BYTES } from "../limits.ts";
import { sealed } from "../project/cipher.ts";
import { MAX_WINDOW_LOG } from "../project/zstd-frame.ts";
import { ChunkList, MIN_CHUNK_BYTES } from "../tree/chunks.ts";
import { comparePaths } from "../tree/compare-paths.ts";
import type { FileEntry } from "../tree/file-table.ts";
import { readLineBatches, readLines } from "../tree/read-lines.ts";
import { lineOf, listedEntry, type TreeEntry } from "../tree/tree-listing.ts";

/** Chunks per line of an index, so that a file of many GiB has many short lines. */
const CHUNKS_PER_LINE = 4096;
const MAX_LINE_BYTES = 256 * 1024;
/**
 * Bytes that any index may unpack to, to which more are added for each byte of the sealed one: digests do not compress.
 */
const FREE_BYTES = 16 * 1024 * 1024;
const BYTES_PER_BYTE = 64;

/** Compression window of 128 KiB: most of a line is a digest, and the rest resembles the lines near it. */
const WINDOW_LOG = 17;

/** Tree that an index describes. */
export interface IndexedTree {
  projectId: string;
  version: string;
  /** Tree digest of its manifest, lower-case hex. */
  contentSha256: string;
}

const header = z.strictObject({
  v: z.literal(1),
  project_id: projectId,
  version: semverLabel,
  content_sha256: sha256Hex,
});

/**
 * Derives the key of a version's index from the signer's seed, so that a hub can neither read nor forge an index, and
 * that of another version does not open.
 */
function indexKey(seed: Uint8Array, project: string, version: string): Buffer {
  const info = `sealift index v1\0${project}\0${version}`;
  return Buffer.from(hkdfSync("sha256", seed, Buffer.alloc(0), info, DEK_BYTES));
}

/**
 * Writes the sealed index of a tree: NDJSON → zstd → AES-256-GCM under a key of the signer's
 * (docs/contract/delta.md#index).
 */
export async function writeIndex(
  file: string,
  tree: IndexedTree,
  entries: Iterable<TreeEntry>,
  seed: Uint8Array,
): Promise<void> {
  try {
    await pipeline(
      Readable.from(linesOf(tree, entries), { highWaterMark: 1 }),
      createZstdCompress({ params: { [constants.ZSTD_c_windowLog]: WINDOW_LOG } }),
      (chunks: AsyncIterable<Buffer>) => sealed(chunks, indexKey(seed, tree.projectId, tree.version)),
      createWriteStream(file, { flags: "wx", mode: 0o600, flush: true }),
    );
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
}

/** Yields lines in chunks of some KiB: a stream step for each line would cost more than the line. */
function* linesOf(tree: IndexedTree, entries: Iterable<TreeEntry>): Generator<string> {
  const first = { v: 1, project_id: tree.projectId, version: tree.version, content_sha256: tree.contentSha256 };
  let text = `${JSON.stringify(first)}\n`;
  for (const entry of entries) {
    text += lineOf(entry);
    const chunks = entry.type === "file" ? entry.chunks : undefined;
    for (let from = 0; chunks !== undefined && from < chunks.count; from += CHUNKS_PER_LINE) {
      const records = chunks.toBuffer(from, Math.min(chunks.count, from + CHUNKS_PER_LINE));
      text += `{"chunks":"${records.toString("base64")}"}\n`;
    }
    if (text.length < 64 * 1024) continue;
    yield text;
    text = "";
  }
  yield text;
}

/** Opened index, whose entries are read from a private file as often as needed. */
export interface OpenIndex {
  tree: IndexedTree;
  /** Yields batches of entries in canonical order. @throws ArtifactError `index_invalid` on the way */
  entries: () => AsyncGenerator<TreeEntry[]>;
}

const indexInvalid = (why: string) => artifactError("index_invalid", `The index of the earlier version ${why}.`);

/**
 * Opens a sealed index into a private file. Parses nothing before its tag is verified.
 *
 * @param plain path of a file that does not exist yet; the caller removes it
 * @param expected requested version
 * @param limits of the tree
 * @throws ArtifactError `index_invalid` when this signer did not seal it, or for another version or malformed content
 */
export async function openIndex(
  file: string,
  plain: string,
  seed: Uint8Array,
  expected: { projectId: string; version: string },
  limits: Pick<Limits, "maxEntries"> = DEFAULT_LIMITS,
): Promise<OpenIndex> {
  const key = indexKey(seed, expected.projectId, expected.version);
  await decryptFile(file, plain, key);
  const lines = readLines(plain, MAX_LINE_BYTES);
  const { value: first } = await lines.next();
  await lines.return(undefined);
  const parsed = safelyParsed(header, jsonOf(first));
  if (!parsed.success) throw indexInvalid("has no usable first line");
  const { project_id, version, content_sha256 } = parsed.data;
  if (project_id !== expected.projectId || version !== expected.version)
    throw indexInvalid("describes another version");
  const tree = { projectId: project_id, version, contentSha256: content_sha256 };
  return { tree, entries: () => entriesOf(plain, limits.maxEntries) };
}

async function decryptFile(file: string, plain: string, key: Buffer): Promise<void> {
  const nonce = Buffer.alloc(NONCE_BYTES);
  const tag = Buffer.alloc(TAG_BYTES);
  await using source = await open(file);
  const { size } = await source.stat();
  if (size < NONCE_BYTES + TAG_BYTES) throw indexInvalid("is too short");
  await source.read(nonce, 0, NONCE_BYTES, 0);
  await source.read(tag, 0, TAG_BYTES, size - TAG_BYTES);
  const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES }).setAuthTag(tag);
  const maxBytes = FREE_BYTES + BYTES_PER_BYTE * size;
  let unpacked = 0;
  const pace = paceBuffers();
  const limit = new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      unpacked += chunk.length;
      pace(chunk.length);
      callback(unpacked > maxBytes ? indexInvalid(`unpacks to more than ${maxBytes} bytes`) : null, chunk);
    },
  });
  try {
    await pipeline(
      createReadStream(file, { start: NONCE_BYTES, end: Math.max(NONCE_BYTES, size - TAG_BYTES - 1) }),
      decipher,
      createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: MAX_WINDOW_LOG } }),
      limit,
      createWriteStream(plain, { flags: "wx", mode: 0o600 }),
    );
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (cause instanceof SealiftError) throw cause;
    if (code === "ENOSPC" || code === "EDQUOT" || code === "EEXIST") throw cause;
    throw artifactError(
      "index_invalid",
      "The index of the earlier version was not sealed by this signer, or was changed.",
      {
        cause,
      },
    );
  }
}

async function* entriesOf(plain: string, maxEntries: number): AsyncGenerator<TreeEntry[]> {
  let current: TreeEntry | undefined;
  let number = 0;
  let count = 0;
  for await (const lines of readLineBatches(plain, MAX_LINE_BYTES)) {
    const entries: TreeEntry[] = [];
    for (const text of lines) {
      if (++number === 1) continue;
      const line = jsonOf(text);
      const records = chunksIn(line);
      if (records !== undefined) {
        if (current?.type !== "file") throw indexInvalid(`has chunks of nothing in line ${number}`);
        const chunks: ChunkList = (current.chunks ??= new ChunkList());
        if (chunks.count * MIN_CHUNK_BYTES > current.size)
          throw indexInvalid(`has more chunks than its file has bytes in line ${number}`);
        if (!chunks.append(records)) throw indexInvalid(`has broken chunks in line ${number}`);
        continue;
      }
      const next = listedEntry(line);
      if (next === undefined) throw indexInvalid(`has a line ${number} of another form`);
      if (++count > maxEntries)
        throw indexInvalid(`lists more than ${maxEntries} files and folders; --max-entries allows more`);
      if (current !== undefined) {
        if (comparePaths(current.path, next.path) >= 0) throw indexInvalid(`is not sorted at line ${number}`);
        entries.push(checked(current));
      }
      current = next;
    }
    yield entries;
  }
  if (current !== undefined) yield [checked(current)];
}

/** Returns the records of a line of chunks; undefined for another line. Ignores characters that are not base64. */
function chunksIn(line: unknown): Buffer | undefined {
  const text = typeof line === "object" && line !== null && "chunks" in line ? line.chunks : undefined;
  return typeof text === "string" ? Buffer.from(text, "base64") : undefined;
}

function checked(entry: TreeEntry): TreeEntry {
  const chunks = (entry as FileEntry).chunks;
  if (chunks !== undefined && chunks.totalBytes() !== (entry as FileEntry).size)
    throw indexInvalid("has chunks that are not as long as their file");
  return entry;
}

function jsonOf(text: string | undefined | void): unknown {
  try {
    return JSON.parse(text ?? "") as unknown;
  } catch {
    return undefined;
  }
}
