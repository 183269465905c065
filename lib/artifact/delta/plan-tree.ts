import type { Manifest } from "../../contract/files/manifest.ts";
import type { Limits } from "../limits.ts";
import { checkDigests } from "../project/open.ts";
import { comparePaths } from "../tree/compare-paths.ts";
import { quoted } from "../tree/safe-path.ts";
import { type ListedEntry, listedInOrder, type TreeListing } from "../tree/tree-listing.ts";
import { TreeWriter } from "../tree/tree-writer.ts";
import {
  checkSizeOfLines,
  type DeltaHeader,
  deltaInvalid,
  type DeltaLine,
  eachPiece,
  listingDigest,
  MAX_PIECES,
  type PackedPieces,
  parseHeader,
  parseLine,
  pathOfLine,
  type PutLine,
  readDeltaLines,
} from "./delta-lines.ts";

/** Tree that a delta is applied to: its facts as verified at installation, and the present place of its files. */
export interface BaseTree extends TreeListing {
  version: string;
  /** Tree digest of its manifest, lower-case hex. */
  contentSha256: string;
  /** Returns the place of one of its files on this disk. @param file its index */
  pathOf: (file: number) => string;
}

/** Unpacked delta, with signature and tag verified and its content still unchecked. */
export interface UnpackedDelta {
  folder: string;
  /** Size of the sealed delta, in bytes. */
  bytes: number;
  /** Number of files unpacked. */
  files: number;
  manifest: Manifest;
}

/** Source of a file's bytes. */
export interface FileSource {
  /** Base file, by index. Without `pieces` all of it is used. */
  base?: number | undefined;
  /** Number of the member with its new bytes. */
  member?: number | undefined;
  pieces?: PackedPieces | undefined;
}

/** Planned tree, before any of its files exists. */
export interface TreePlan extends TreeListing {
  entries: number;
  /** Total size of all files, in bytes. */
  bytes: number;
  /** Returns the source of a file. @param file its index */
  sourceOf: (file: number) => FileSource;
}

/**
 * Computes the tree that a delta makes of its base, and checks everything that can be checked before a byte is written:
 * its form, the limits, and the digests of the manifest and of the listing.
 *
 * @throws ArtifactError `delta_invalid`, `member_*`, `limit_exceeded`, `digest_mismatch`, `plugin_*`
 */
export async function planTree(delta: UnpackedDelta, base: BaseTree, limits: Limits): Promise<TreePlan> {
  const { folder, manifest } = delta;
  checkSizeOfLines(folder, delta.bytes);
  const draft = new Draft(base, limits);
  const lines = readDeltaLines(folder);
  try {
    const first = await lines.next();
    const header = parseHeader(first.done === true ? "" : first.value);
    checkHeader(header, base, manifest);
    await draft.merge(lines);
    // The manifest and the lines themselves are files, too.
    if (delta.files !== draft.members + 2) throw deltaInvalid("it holds files that no line names");
    const plan = draft.plan();
    checkDigests(plan.files, manifest);
    if (listingDigest(plan) !== header.listing_sha256)
      throw deltaInvalid("its tree has other executable files or empty folders than its first line says");
    return plan;
  } finally {
    draft.tree.close();
    await lines.return(undefined);
  }
}

function checkHeader(header: DeltaHeader, base: BaseTree, manifest: Manifest): void {
  if (header.project_id !== manifest.project_id || header.version !== manifest.version)
    throw deltaInvalid("its first line and its manifest belong to different projects or versions");
  if (header.base.version !== base.version || header.base.content_sha256 !== base.contentSha256)
    throw deltaInvalid(`it was made for ${quoted(header.base.version)}, not for what runs here`);
}

/** Lists of the finished tree, as the lines of a delta and the entries of its base make it. */
class Draft {
  /** Checks names and limits; it writes nothing. */
  readonly tree: TreeWriter;
  members = 0;
  readonly #base: BaseTree;
  #pieces = 0;
  /** Indices of files taken unchanged from the base. */
  readonly #kept: number[] = [];
  /** Sources of all other files, by index. */
  readonly #sources = new Map<number, FileSource>();

  constructor(base: BaseTree, limits: Limits) {
    this.#base = base;
    this.tree = new TreeWriter(undefined, limits);
  }

  plan(): TreePlan {
    const { files, entries, bytes } = this.tree;
    const sourceOf = (file: number): FileSource => this.#sources.get(file) ?? { base: this.#kept[file] };
    return { files, emptyFolders: this.tree.emptyFolders(), entries, bytes, sourceOf };
  }

  /** Merges base and lines in canonical order. Paths without a line are taken unchanged. */
  async merge(lines: AsyncIterable<string>): Promise<void> {
    const listed = listedInOrder(this.#base);
    let next = listed.next();
    let number = 1;
    let before: string | undefined;
    for await (const text of lines) {
      const line = parseLine(text, ++number);
      const path = pathOfLine(line);
      if (before !== undefined && comparePaths(before, path) >= 0)
        throw deltaInvalid(`line ${number} names ${quoted(path)} twice or out of order`);
      before = path;
      for (; next.done !== true && comparePaths(next.value.path, path) < 0; next = listed.next())
        this.#keep(next.value);
      const replaces = next.done !== true && next.value.path === path;
      if (replaces) next = listed.next();
      this.#apply(line, replaces);
    }
    for (; next.done !== true; next = listed.next()) this.#keep(next.value);
  }

  #keep({ file, path }: ListedEntry): void {
    if (file === undefined) this.tree.folder(`${path}/`);
    else this.#copy(path, this.#base.files.isExecutable(file), file);
  }

  /** Takes a whole file of the base. */
  #copy(path: string, executable: boolean, file: number): void {
    const { files } = this.#base;
    const index = this.tree.claim(path, files.sizeAt(file), executable);
    this.tree.files.wroteCopy(index, files, file);
    this.#kept[index] = file;
  }

  #apply(line: DeltaLine, replaces: boolean): void {
    if ("put" in line) this.#put(line);
    else if ("folder" in line) this.tree.folder(`${line.folder}/`);
    else if (!replaces) throw deltaInvalid(`it drops ${quoted(line.drop)}, which the base does not have`);
  }

  #put(line: PutLine): void {
    const { put, executable, size, sha256, member, pieces } = line;
    if (member !== undefined && member !== ++this.members)
      throw deltaInvalid(`${quoted(put)} takes its bytes out of order`);
    const base = this.#baseOf(line);
    if (pieces !== undefined) this.#checkPieces(line, pieces, base);
    else if (base !== undefined) {
      const { files } = this.#base;
      if (member !== undefined || files.sha256At(base) !== sha256 || files.sizeAt(base) !== size)
        throw deltaInvalid(`${quoted(put)} is not a copy of ${quoted(line.base!)}`);
      return this.#copy(put, executable, base);
    } else if (member === undefined && size > 0) throw deltaInvalid(`${quoted(put)} has no source for its bytes`);
    const index = this.tree.claim(put, size, executable);
    this.tree.files.wrote(index, { sha256: Buffer.from(sha256, "hex") });
    this.#kept[index] = -1;
    this.#sources.set(index, { base, member, pieces });
  }

  #baseOf({ put, base }: PutLine): number | undefined {
    const found = base === undefined ? undefined : this.#base.files.indexOf(base);
    if (base !== undefined && found === undefined)
      throw deltaInvalid(`${quoted(put)} copies ${quoted(base)}, which the base does not have`);
    return found;
  }

  /** Counts lengths and ranges before a byte is written: a short line must not become gigabytes. */
  #checkPieces({ put, size, member }: PutLine, pieces: PackedPieces, base: number | undefined): void {
    if (base === undefined) throw deltaInvalid(`${quoted(put)} has pieces of no file`);
    this.#pieces += pieces.length / 2;
    if (this.#pieces > MAX_PIECES) throw deltaInvalid(`it has more than ${MAX_PIECES} pieces`);
    const end = this.#base.files.sizeAt(base);
    let [total, fresh] = [0, 0];
    for (const { offset, length, isNew } of eachPiece(pieces)) {
      total += length;
      if (isNew) fresh += length;
      else if (offset + length > end) throw deltaInvalid(`${quoted(put)} copies a range beyond the end of its base`);
    }
    if (total !== size) throw deltaInvalid(`the pieces of ${quoted(put)} are ${total} bytes, not ${size}`);
    if (fresh > 0 !== (member !== undefined))
      throw deltaInvalid(`${quoted(put)} has new bytes without a member, or the reverse`);
  }
}
