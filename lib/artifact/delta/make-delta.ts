import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder } from "../../support/files.ts";
import { Turns } from "../../support/turns.ts";
import type { Limits } from "../limits.ts";
import type { SourceProject } from "../project/project-tree.ts";
import { type SealedArtifact, sealProject } from "../project/seal.ts";
import { isUnchanged } from "../tree/member-list.ts";
import { sourceChanged } from "../tree/member-reader.ts";
import { NewFile } from "../tree/new-file.ts";
import { listSourceTree, type SourceTree } from "../tree/source-tree.ts";
import { type Change, compareTrees, type FileChange } from "./compare-trees.ts";
import { DELTA_FILE, type DeltaHeader, listingDigest, MAX_PIECES, maxLineBytes, memberPath } from "./delta-lines.ts";
import type { OpenIndex } from "./index-file.ts";
import { RegularFile } from "./regular-file.ts";

/** Share of the full artifact beyond which a delta is not worth storing. */
const MAX_SHARE = 0.6;

export interface DeltaOptions {
  /** Tree being published, read with chunks. */
  project: SourceProject;
  /** Index of the earlier version. */
  base: OpenIndex;
  /** Path of a private folder that does not exist yet; removed when this function returns. */
  work: string;
  /** Path of the delta's file, which must not exist. */
  output: string;
  /** Size of the full artifact, in bytes. */
  artifactBytes: number;
  /** Signer's 32-byte seed. */
  seed: Uint8Array;
  /** zstd level, 1 to 19. */
  level: number;
  limits: Limits;
  durable?: boolean;
  /** Largest share of the full artifact, or of the tree, that a delta may take. Default 0.6. */
  maxShare?: number;
  signal?: AbortSignal;
}

/**
 * Makes the delta from an earlier version to a tree: a sealed artifact of the differences (docs/contract/delta.md).
 * Undefined when the delta would be larger than `maxShare` of the full artifact, or beyond a limit of the format.
 *
 * @throws PublishError `source_changed`; ArtifactError `index_invalid`
 */
export async function makeDelta(options: DeltaOptions): Promise<SealedArtifact | undefined> {
  const { project, base, work, output, artifactBytes, seed, level, limits, signal } = options;
  const { durable = false } = options;
  const maxShare = options.maxShare ?? MAX_SHARE;
  const { changes, newBytes } = await compareTrees(base.entries, project.entries);
  if (newBytes > project.tree.members.bytes * maxShare || piecesOf(changes) > MAX_PIECES) return undefined;
  try {
    await makeFolder(join(work, "bytes"), 0o700);
    const lineBytes = await writeDeltaFolder(work, changes, options);
    const tree = listSourceTree(work, { limits });
    const delta = await sealProject({ ...project, tree }, { output, seed, level, durable, ...(signal && { signal }) });
    if (delta.size <= artifactBytes * maxShare && lineBytes <= maxLineBytes(delta.size)) return delta;
    await rm(output, { force: true });
    return undefined;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

const piecesOf = (changes: readonly Change[]): number =>
  changes.reduce((sum, change) => sum + ("file" in change ? (change.file.pieces?.length ?? 0) : 0), 0);

/** Writes `delta.ndjson` and the files of new bytes. @returns bytes of the lines */
async function writeDeltaFolder(
  folder: string,
  changes: readonly Change[],
  { project, base, signal }: DeltaOptions,
): Promise<number> {
  const { version, contentSha256 } = base.tree;
  const header: DeltaHeader = {
    v: 1,
    project_id: project.manifest.project_id,
    version: project.manifest.version,
    listing_sha256: listingDigest(project.entries),
    base: { version, content_sha256: contentSha256 },
  };
  const source = new SourceRanges(project.tree, signal);
  let members = 0;
  await using file = await open(join(folder, DELTA_FILE), "wx", 0o600);
  let text = `${JSON.stringify(header)}\n`;
  for (const change of changes) {
    signal?.throwIfAborted();
    let line: object = change;
    if ("file" in change) {
      const member = newRanges(change.file).length > 0 ? ++members : undefined;
      if (member !== undefined) await source.copy(change.file, join(folder, memberPath(member)));
      line = lineOf(change.file, member);
    }
    text += `${JSON.stringify(line)}\n`;
    if (text.length < 64 * 1024) continue;
    await file.write(text);
    text = "";
  }
  await file.write(text);
  return (await file.stat()).size;
}

function lineOf({ entry, base, pieces }: FileChange, member: number | undefined): object {
  const { path, executable, size, sha256 } = entry;
  return {
    put: path,
    executable,
    size,
    sha256,
    ...(member !== undefined && { member }),
    ...(base !== undefined && { base }),
    ...(pieces !== undefined && { pieces }),
  };
}

/** Returns the ranges of the new file that the base does not have: offset and length in bytes. */
function newRanges({ entry, base, pieces }: FileChange): [offset: number, length: number][] {
  if (pieces === undefined) return base === undefined && entry.size > 0 ? [[0, entry.size]] : [];
  const ranges: [number, number][] = [];
  let offset = 0;
  for (const piece of pieces) {
    if (typeof piece === "number") ranges.push([offset, piece]);
    offset += typeof piece === "number" ? piece : piece[1];
  }
  return ranges;
}

/**
 * Reads ranges of listed files, in list order, and checks that each file is unchanged since it was indexed.
 * Synchronous: for many small files a promise each costs more than the file.
 */
class SourceRanges {
  readonly #tree: SourceTree;
  readonly #buffer = Buffer.allocUnsafeSlow(256 * 1024);
  readonly #turns: Turns;
  #next = 0;

  constructor(tree: SourceTree, signal: AbortSignal | undefined) {
    this.#tree = tree;
    this.#turns = new Turns(signal);
  }

  /** Writes the new bytes of a file, joined, to a new file. @throws PublishError `source_changed` */
  async copy(change: FileChange, to: string): Promise<void> {
    const { path } = change.entry;
    const { members, root } = this.#tree;
    while (members.pathAt(this.#next) !== path) this.#next++;
    const { size, stamp } = members.at(this.#next);
    using source = new RegularFile(join(root, path), size, () => sourceChanged(path));
    using target = new NewFile(to, false);
    for (const [offset, length] of newRanges(change))
      for (const block of source.range(offset, length, this.#buffer)) {
        target.write(block);
        await this.#turns.after(block.length);
      }
    if (!isUnchanged(source.stats(), stamp)) throw sourceChanged(path);
  }
}
