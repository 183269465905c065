import { createHash, type Hash } from "node:crypto";
import { createReadStream, lstatSync, readdirSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { comparePaths } from "../artifact/tree/compare-paths.ts";
import type { FileEntry } from "../artifact/tree/file-table.ts";
import { readLineBatches } from "../artifact/tree/read-lines.ts";
import type { TargetName } from "../contract/target.ts";
import { paceBuffers } from "../support/buffer-pacing.ts";
import { ifThere, missing, statsOf } from "../support/files.ts";
import { type Layout, SECTIONS } from "./layout.ts";
import { linkState } from "./links.ts";
import type { Release } from "./release.ts";
import { REST_FOLDER } from "./source-folders.ts";

/**
 * File of a release with a line of JSON for each of its files, to detect damage, and for each empty folder of its
 * source tree, so that it can be the base of a delta (docs/contract/host.md).
 */
export const CONTENTS_FILE = "contents.ndjson";
/** Folders of a release in which a changed file counts as damage. */
const INSTALLED: readonly string[] = [...SECTIONS, "shipped-data"];

export interface ListedFile {
  path: string;
  size: number;
  mtime_ms: number;
  sha256: string;
  /** Mode of a file of the source tree; undefined for other files. */
  executable?: boolean;
  /** Original facts of a source file that a provisioner has changed. */
  source?: { size: number; sha256: string };
}
type ListedLine = ListedFile | { folder: string };

/**
 * Bytes written with one call, and between two turns of the event loop; the next constant limits the last line of them.
 */
const PIECE_BYTES = 64 * 1024;
const MAX_LINE_BYTES = 64 * 1024;

/** Facts of a release's file that are known before reading it. */
export interface KnownFile {
  /** File as it was unpacked. If its time is unchanged, the file is not read again. */
  unpacked: FileEntry | undefined;
  /** Whether something may have changed its bytes since. */
  mayHaveChanged: boolean;
  /** Whether it is a file of a source tree, which may be the base of a delta. */
  isSource: boolean;
}

export interface ContentsOptions {
  /** @param path below the release's folder */
  known: (path: string) => KnownFile;
  /** Names of source files in the release's own folder. */
  kept?: readonly string[];
  /** Empty folders of the source tree, by their paths there. */
  emptyFolders?: readonly string[];
}

/**
 * Lists every file of a finished release with size, modification time and SHA-256, as a stream. Reads files whose
 * digest is not known yet.
 *
 * @param folder of the release
 * @returns the number of lines
 */
export async function writeContents(folder: string, options: ContentsOptions): Promise<number> {
  const { known, kept = [], emptyFolders = [] } = options;
  await using list = await open(join(folder, CONTENTS_FILE), "wx");
  let count = 0;
  // A string to which all lines are appended would keep each of them in memory until it is written.
  const piece = Buffer.allocUnsafeSlow(PIECE_BYTES + MAX_LINE_BYTES);
  let used = 0;
  const pace = paceBuffers("lines");
  const flush = async (): Promise<void> => {
    await list.writeFile(piece.subarray(0, used));
    pace(used);
    used = 0;
  };
  for (const path of filesBelow(folder, kept)) {
    const { unpacked, mayHaveChanged, isSource } = known(path);
    const source = isSource ? unpacked : undefined;
    const unchanged = mayHaveChanged ? undefined : unpacked;
    // Synchronous, and written by the piece: for each small file a promise and a call take longer than its line.
    const { size, mtimeMs = 0 } = unchanged?.mtimeMs === undefined ? lstatSync(`${folder}/${path}`) : unchanged;
    const sha256 = unchanged?.sha256 ?? (await digestOf(join(folder, path)));
    count++;
    let line = `{"path":${JSON.stringify(path)},"size":${size},"mtime_ms":${mtimeMs},"sha256":"${sha256}"`;
    if (source !== undefined) line += `,"executable":${source.executable}`;
    if (source !== undefined && source.sha256 !== sha256)
      line += `,"source":{"size":${source.size},"sha256":"${source.sha256}"}`;
    used += piece.write(`${line}}\n`, used);
    if (used >= PIECE_BYTES) await flush();
  }
  for (const path of emptyFolders) {
    used += piece.write(`${JSON.stringify({ folder: path })}\n`, used);
    if (used >= PIECE_BYTES) await flush();
  }
  await flush();
  return count + emptyFolders.length;
}

function* filesBelow(folder: string, kept: readonly string[]): Generator<string> {
  const stats = (name: string) => lstatSync(join(folder, name), { throwIfNoEntry: false });
  for (const name of [...INSTALLED, REST_FOLDER]) if (stats(name)?.isDirectory() === true) yield* walk(folder, name);
  for (const name of kept) if (stats(name)?.isFile() === true) yield name;
}

/** Yields paths in the canonical order of each folder, so that a later sort finds the list nearly sorted. */
function* walk(folder: string, below: string): Generator<string> {
  const entries = readdirSync(join(folder, below), { withFileTypes: true });
  for (const entry of entries.toSorted((a, b) => comparePaths(a.name, b.name))) {
    const path = `${below}/${entry.name}`;
    if (entry.isDirectory()) yield* walk(folder, path);
    else if (entry.isFile()) yield path;
  }
}

/**
 * Reads the list of a release line by line; nothing for a missing list, undefined for a line that {@link writeContents}
 * did not write.
 */
export async function* readContents(folder: string): AsyncGenerator<ListedLine | undefined> {
  try {
    for await (const lines of readContentsInBatches(folder)) yield* lines;
  } catch (error) {
    if (!missing(error)) throw error;
  }
}

/** Reads the list of a release like {@link readContents}, and yields many lines together. */
export async function* readContentsInBatches(folder: string): AsyncGenerator<(ListedLine | undefined)[]> {
  for await (const lines of readLineBatches(join(folder, CONTENTS_FILE), MAX_LINE_BYTES)) yield lines.map(parsed);
}

/** Returns the SHA-256 of a file, in hex. */
export async function digestOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}

/**
 * Checks that the running release is as it was made: every link exists, and its files are intact ({@link damagedFile}).
 *
 * @returns the first fault found, as the end of a sentence
 */
export async function damageOf(
  layout: Layout,
  target: TargetName,
  release: Release,
  { digests = false } = {},
): Promise<string | undefined> {
  for (const item of release.items)
    if ((await linkState(layout, target, item)) !== "ours") return `${layout.link(item)} is not its link`;
  return damagedFile(layout.release(target, release.name), release, digests);
}

/**
 * Checks that the files of a release are as they were made: cheaply by existence, size and modification time; with
 * `digests` by reading every byte, too. Nothing is known about files of adopted folders.
 *
 * @param folder of the release
 * @returns the first fault found, as the end of a sentence
 */
export async function damagedFile(
  folder: string,
  { files }: Pick<Release, "files">,
  digests: boolean,
): Promise<string | undefined> {
  if (files === undefined) return undefined;
  let found = 0;
  for await (const line of readContents(folder)) {
    found++;
    const fault = await faultOf(folder, line, digests);
    if (fault !== undefined) return fault;
  }
  return found === files ? undefined : `its list of files has ${found} of ${files} lines`;
}

/**
 * Computes a digest of each item of a release: paths, bytes and whether they are executable.
 *
 * @param folder of the release
 * @returns `<section>/<id>` → digest; none where the release has no complete list of its files
 */
export async function itemDigests(folder: string, { files }: Pick<Release, "files">): Promise<Map<string, string>> {
  const digests = new Map<string, Hash>();
  let found = 0;
  for await (const line of readContents(folder)) {
    if (line === undefined) return new Map();
    found++;
    if ("folder" in line) continue;
    const [section, id] = line.path.split("/", 2);
    if (section !== "plugins" && section !== "extensions") continue;
    const key = `${section}/${id}`;
    const digest = digests.get(key) ?? createHash("sha256");
    digests.set(key, digest.update(JSON.stringify([line.path, line.sha256, line.executable])));
  }
  return new Map(found === files ? [...digests].map(([key, digest]) => [key, digest.digest("hex")]) : []);
}

async function faultOf(folder: string, listed: ListedLine | undefined, digests: boolean): Promise<string | undefined> {
  if (listed === undefined) return "its list of files is damaged";
  // Files that no step installed never run; without them, a release can only no longer be the base of a delta.
  if ("folder" in listed || (!digests && !INSTALLED.includes(listed.path.split("/", 1)[0]!))) return undefined;
  const path = join(folder, listed.path);
  const stats = await statsOf(path);
  if (stats?.isFile() !== true) return `${listed.path} is missing`;
  if (stats.size !== listed.size) return `${listed.path} has ${stats.size} bytes instead of ${listed.size}`;
  if (stats.mtimeMs !== listed.mtime_ms) return `${listed.path} was changed`;
  if (digests && (await ifThere(digestOf(path))) !== listed.sha256) return `${listed.path} has other bytes`;
  return undefined;
}

/** Parses a line, checked by hand: for tens of thousands of files a schema takes longer than parsing. */
function parsed(text: string): ListedLine | undefined {
  let line: unknown;
  try {
    line = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isFile(line) || (isObject(line) && typeof line["folder"] === "string") ? (line as ListedLine) : undefined;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

const isSized = (value: Record<string, unknown>): boolean =>
  typeof value["size"] === "number" && typeof value["sha256"] === "string";

function isFile(line: unknown): line is ListedFile {
  if (!isObject(line) || !isSized(line) || "folder" in line) return false;
  const { path, mtime_ms, executable, source } = line;
  return (
    typeof path === "string" &&
    typeof mtime_ms === "number" &&
    (executable === undefined || typeof executable === "boolean") &&
    (source === undefined || (isObject(source) && isSized(source)))
  );
}
