import { ChunkTable } from "../tree/chunks.ts";
import { comparePaths } from "../tree/compare-paths.ts";
import type { FileEntry } from "../tree/file-table.ts";
import type { TreeEntry } from "../tree/tree-listing.ts";
import { MAX_FILE_PIECES, type Piece } from "./delta-lines.ts";

/** File of the target that the base does not have unchanged, and the origin of its bytes. */
export interface FileChange {
  entry: FileEntry;
  /** Base file from which some or all of its bytes are copied. */
  base?: string;
  /** Copied ranges and new bytes in order, for a file with a `base`; without pieces it equals the whole base file. */
  pieces?: Piece[];
}

export type Change = { file: FileChange } | { folder: string } | { drop: string };

export interface TreeChanges {
  /** Changes in canonical order of their paths. */
  changes: Change[];
  /** Bytes that the base does not have. */
  newBytes: number;
}

/** Share of new bytes from which a file is sent whole. */
const WHOLE_FROM_SHARE = 0.9;

/**
 * Computes what turns one tree into another. Pure: it reads both lists and no file.
 *
 * @param base yields the entries of the base in canonical order, in batches; called once or twice
 * @param target the entries of the new tree in canonical order
 */
export async function compareTrees(
  base: () => AsyncIterable<readonly TreeEntry[]>,
  target: Iterable<TreeEntry>,
): Promise<TreeChanges> {
  const found: Change[] = [];
  const unexplained: FileChange[] = [];
  /**
   * Digests of the base's files: if none equals that of an unexplained file, a second pass over the base is useless.
   */
  const digests: number[] = [];
  const take = (entry: TreeEntry, before?: TreeEntry): void => {
    if (entry.type === "folder") {
      if (before?.type !== "folder") found.push({ folder: entry.path });
      return;
    }
    const change = before?.type === "file" ? changeOf(entry, before) : { entry };
    if (change === undefined) return;
    found.push({ file: change });
    if (change.base === undefined && entry.size > 0) unexplained.push(change);
  };

  const entries = target[Symbol.iterator]();
  let { value: next } = entries.next() as { value?: TreeEntry };
  const takeNext = (before?: TreeEntry): void => {
    take(next!, before);
    ({ value: next } = entries.next() as { value?: TreeEntry });
  };
  for await (const earlier of base())
    for (const before of earlier) {
      if (before.type === "file") digests.push(shortDigest(before));
      while (next !== undefined && comparePaths(next.path, before.path) < 0) takeNext();
      if (next?.path === before.path) takeNext(before);
      else found.push({ drop: before.path });
    }
  while (next !== undefined) takeNext();

  const wanted = Map.groupBy(unexplained, ({ entry }) => shortDigest(entry));
  if (digests.some((digest) => wanted.has(digest))) await findElsewhere(base(), wanted);
  return { changes: found, newBytes: found.reduce((sum, change) => sum + newBytesOf(change), 0) };
}

/** Returns the change that a file of both trees needs; undefined when it is the same. */
function changeOf(entry: FileEntry, before: FileEntry): FileChange | undefined {
  if (entry.sha256 === before.sha256 && entry.size === before.size) {
    return entry.executable === before.executable ? undefined : { entry, base: before.path };
  }
  const pieces = piecesOf(entry, before);
  return pieces === undefined ? { entry } : { entry, base: before.path, pieces };
}

/**
 * Expresses the new file as ranges of the old one and new bytes between them; undefined when too little of it is old.
 */
function piecesOf(entry: FileEntry, before: FileEntry): Piece[] | undefined {
  if (entry.chunks === undefined || before.chunks === undefined) return undefined;
  const table = new ChunkTable(before.chunks);
  const pieces: Piece[] = [];
  let fresh = 0;
  for (let index = 0; index < entry.chunks.count; index++) {
    const length = entry.chunks.lengthOf(index);
    const offset = table.offsetOf(length, entry.chunks.digestOf(index));
    if (offset === undefined) fresh += length;
    addPiece(pieces, offset, length);
  }
  return fresh < entry.size * WHOLE_FROM_SHARE && pieces.length <= MAX_FILE_PIECES ? pieces : undefined;
}

/** Appends a chunk, merged with the previous piece if they are adjacent. */
function addPiece(pieces: Piece[], offset: number | undefined, length: number): void {
  const last = pieces.at(-1);
  if (offset === undefined) {
    if (typeof last === "number") pieces[pieces.length - 1] = last + length;
    else pieces.push(length);
  } else if (Array.isArray(last) && last[0] + last[1] === offset) last[1] += length;
  else pieces.push([offset, length]);
}

/** Finds new files among base files of other names, so that a renamed or copied file costs one line. */
async function findElsewhere(
  base: AsyncIterable<readonly TreeEntry[]>,
  wanted: ReadonlyMap<number, FileChange[]>,
): Promise<void> {
  for await (const entries of base)
    for (const before of entries) {
      if (before.type !== "file") continue;
      for (const change of wanted.get(shortDigest(before)) ?? [])
        if (change.entry.sha256 === before.sha256 && change.entry.size === before.size) change.base ??= before.path;
    }
}

/**
 * Returns the first 48 bits of a file's digest. V8 keeps every string looked up in a map until its next full
 * collection: 8 MB for 100,000 digests.
 */
const shortDigest = ({ sha256 }: FileEntry): number => Number.parseInt(sha256.slice(0, 12), 16);

/** Returns the new bytes that a change has to transfer. */
export function newBytesOf(change: Change): number {
  if (!("file" in change)) return 0;
  const { entry, base, pieces } = change.file;
  if (pieces !== undefined) return pieces.reduce<number>((sum, part) => sum + (typeof part === "number" ? part : 0), 0);
  return base === undefined ? entry.size : 0;
}
