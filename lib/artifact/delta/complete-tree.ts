import { join } from "node:path";
import type { ArtifactThread } from "../thread/artifact-thread.ts";
import type { Limits } from "../limits.ts";
import { comparePaths } from "../tree/compare-paths.ts";
import { quoted } from "../tree/safe-path.ts";
import type { FileEntry } from "../tree/file-table.ts";
import { type Listed, listedInOrder, type TreeListing } from "../tree/tree-listing.ts";
import { type ClaimedFile, TreeWriter } from "../tree/tree-writer.ts";
import {
  deltaInvalid,
  type DeltaLine,
  memberPath,
  parseHeader,
  parseLine,
  pathOfLine,
  type Piece,
  type PutLine,
  readDeltaLines,
} from "./delta-lines.ts";
import { otherSize } from "./file-copier.ts";
import { FileMaker, type PlacedSpan, type Span } from "./file-maker.ts";
import { RegularFile } from "./regular-file.ts";

/** The tree that a delta is applied to: what was verified when it was installed, and where its files are now. */
export interface BaseTree extends TreeListing {
  version: string;
  /** Lower-case hex of its manifest. */
  contentSha256: string;
  /** Returns the place of one of its files on this disk. @param file its index */
  pathOf: (file: number) => string;
}

export interface CompleteOptions {
  /** Folder with the unpacked delta: its signature and tag hold, its content is not checked yet. */
  delta: string;
  /** Files that were unpacked into it. */
  deltaFiles: number;
  base: BaseTree;
  /** The version that was asked for. */
  expected: { projectId: string; version: string };
  /** An empty private folder for the whole tree. The caller removes it if this function throws. */
  output: string;
  limits: Limits;
  signal?: AbortSignal;
  thread: ArtifactThread;
}

/**
 * Completes a tree from a delta and the release that it was made for. What no line names is taken from the base as it
 * is, by reflink where the file system can. Every file is hashed as it is taken; the caller compares the whole tree
 * with the manifest.
 *
 * @returns the writer of the tree, with the digest of each file
 * @throws ArtifactError `delta_invalid`, `delta_base_changed`, `member_*`, `limit_exceeded`
 */
export async function completeTree(options: CompleteOptions): Promise<TreeWriter> {
  const { base, delta, deltaFiles, expected, signal } = options;
  const completion = new Completion(options);
  const lines = readDeltaLines(delta);
  try {
    const first = await lines.next();
    checkHeader(first.done === true ? "" : first.value, base, expected);
    const listed = listedInOrder(base);
    let next = listed.next();
    let number = 1;
    let before: string | undefined;
    for await (const text of lines) {
      const line = parseLine(text, ++number);
      const path = pathOfLine(line);
      if (before !== undefined && comparePaths(before, path) >= 0)
        throw deltaInvalid(`line ${number} names ${quoted(path)} twice or out of order`);
      before = path;
      for (; next.done !== true && comparePaths(next.value.path, path) < 0; next = listed.next()) {
        const busy = completion.keep(next.value);
        if (busy !== undefined) await busy;
      }
      const replaces = next.done !== true && next.value.path === path;
      if (replaces) next = listed.next();
      await completion.apply(line, replaces);
      signal?.throwIfAborted();
    }
    for (; next.done !== true; next = listed.next()) {
      const busy = completion.keep(next.value);
      if (busy !== undefined) await busy;
    }
    await completion.finish(deltaFiles);
    return completion.tree;
  } finally {
    completion.tree.close();
    await lines.return(undefined);
  }
}

function checkHeader(text: string, base: BaseTree, expected: CompleteOptions["expected"]): void {
  const header = parseHeader(text);
  if (header.project_id !== expected.projectId || header.version !== expected.version)
    throw deltaInvalid("it belongs to another project or version");
  if (header.base.version !== base.version || header.base.content_sha256 !== base.contentSha256)
    throw deltaInvalid(`it was made for ${quoted(header.base.version)}, not for what runs here`);
}

/** A file of the base, and its place on this disk. */
interface BaseFile extends Pick<FileEntry, "path" | "size" | "sha256" | "executable"> {
  /** Among the files of the base. */
  index: number;
  from: string;
}

class Completion {
  readonly tree: TreeWriter;
  readonly #options: CompleteOptions;
  readonly #maker: FileMaker;
  #members = 0;

  constructor(options: CompleteOptions) {
    this.#options = options;
    this.tree = new TreeWriter(options.output, options.limits);
    this.#maker = new FileMaker(options.thread, this.tree.files, options.signal);
  }

  /**
   * Takes an entry of the base as it is.
   *
   * @returns undefined when the next one can follow at once, as after nearly every file
   */
  keep({ file, path }: Listed): Promise<void> | undefined {
    if (file !== undefined) return this.#copyBase(this.#baseFile(file, path));
    this.tree.folder(`${path}/`);
    return undefined;
  }

  async apply(line: DeltaLine, replaces: boolean): Promise<void> {
    if ("put" in line) await this.#put(line);
    else if ("folder" in line) this.tree.folder(`${line.folder}/`);
    else if (!replaces) throw deltaInvalid(`it drops ${quoted(line.drop)}, which the base does not have`);
  }

  /** Ends when every file is there, and nothing is left that no line named. @throws ArtifactError `delta_invalid` */
  async finish(deltaFiles: number): Promise<void> {
    await this.#maker.end();
    // The manifest and the lines themselves are files, too.
    if (deltaFiles !== this.#members + 2) throw deltaInvalid("it holds files that no line names");
  }

  async #put(line: PutLine): Promise<void> {
    const { put, executable, size, sha256, base, member, pieces } = line;
    if (member !== undefined && member !== ++this.#members)
      throw deltaInvalid(`${quoted(put)} takes its bytes out of order`);
    const found = base === undefined ? undefined : this.#options.base.files.indexOf(base);
    if (base !== undefined && found === undefined)
      throw deltaInvalid(`${quoted(put)} copies ${quoted(base)}, which the base does not have`);
    const source = found === undefined ? undefined : this.#baseFile(found, base!);
    if (pieces !== undefined) {
      this.#checkPieces(line, source);
      await this.#assemble(line, source!);
    } else if (source !== undefined) {
      if (member !== undefined || source.sha256 !== sha256 || source.size !== size)
        throw deltaInvalid(`${quoted(put)} is no copy of ${quoted(base!)}`);
      await this.#copyBase(source, put, executable);
    } else if (member !== undefined) {
      using file = this.#member(member, size, "a file of new bytes has another length than its line says");
      await this.#write(line, [{ file, offset: 0, length: size }]);
    } else if (size === 0) await this.#write(line, []);
    else throw deltaInvalid(`${quoted(put)} has no source for its bytes`);
  }

  #member(number: number, size: number, otherwise: string): RegularFile {
    return new RegularFile(join(this.#options.delta, memberPath(number)), size, () => deltaInvalid(otherwise));
  }

  /** Lengths and ranges are counted before a byte is written: a short line must not become gigabytes. */
  #checkPieces({ put, size, member, pieces }: PutLine, source: BaseFile | undefined): void {
    if (source === undefined) throw deltaInvalid(`${quoted(put)} has pieces of no file`);
    let total = 0;
    let fresh = 0;
    for (const piece of pieces!) {
      if (typeof piece === "number") fresh += piece;
      else if (piece[0] + piece[1] > source.size)
        throw deltaInvalid(`${quoted(put)} copies a range beyond the end of ${quoted(source.path)}`);
      total += typeof piece === "number" ? piece : piece[1];
    }
    if (total !== size) throw deltaInvalid(`the pieces of ${quoted(put)} are ${total} bytes, not ${size}`);
    if (fresh > 0 !== (member !== undefined))
      throw deltaInvalid(`${quoted(put)} has new bytes without a member, or the reverse`);
  }

  async #assemble(line: PutLine, source: BaseFile): Promise<void> {
    const { put, size, executable, member } = line;
    const { from } = source;
    using copies = new RegularFile(from, source.size, () => otherSize(source.path));
    const pieces = line.pieces!;
    const fresh = pieces.reduce<number>((sum, piece) => sum + (typeof piece === "number" ? piece : 0), 0);
    using literals =
      member === undefined
        ? undefined
        : this.#member(member, fresh, `the new bytes of ${quoted(put)} have another length than its pieces say`);
    const placed = (): Generator<PlacedSpan> => placedPieces(pieces, copies, literals);
    const claimed = this.tree.claimFile(put, size, executable);
    const { target } = claimed;
    const moved = placed().filter((piece) => !staysPut(piece));
    const patched = placed().some(staysPut) ? await this.#maker.patch(from, target, line, moved) : undefined;
    this.#recordNew(claimed, line, patched ?? (await this.#maker.write(target, line, placed())));
  }

  /** Writes one file, and checks its digest. */
  async #write(line: PutLine, spans: readonly Span[]): Promise<void> {
    const claimed = this.tree.claimFile(line.put, line.size, line.executable);
    this.#recordNew(claimed, line, await this.#maker.write(claimed.target, line, spans));
  }

  /** @throws ArtifactError `delta_invalid` when the file is not the one that its line describes */
  #recordNew({ index }: ClaimedFile, { put, sha256 }: PutLine, found: string): void {
    if (found !== sha256) throw deltaInvalid(`${quoted(put)} is not the file that its line describes`);
    this.tree.recordFile(index, Buffer.from(found, "hex"));
  }

  /** A file of the base under a path of the new tree. It is copied, and its digest checked, when all files are. */
  #copyBase(file: BaseFile, to = file.path, executable = file.executable): Promise<void> | undefined {
    const { path, from, size, sha256 } = file;
    const { index, target } = this.tree.claimFile(to, size, executable);
    this.tree.recordCopy(index, this.#options.base.files, file.index);
    return this.#maker.copy({ path, from, to: target, size, sha256, executable }, index);
  }

  #baseFile(index: number, path: string): BaseFile {
    const { files, pathOf } = this.#options.base;
    const [size, sha256, executable] = [files.sizeAt(index), files.sha256At(index), files.isExecutable(index)];
    return { index, path, from: pathOf(index), size, sha256, executable };
  }
}

/** The pieces of a new file, each with its place there. */
function* placedPieces(
  pieces: readonly Piece[],
  copies: RegularFile,
  literals: RegularFile | undefined,
): Generator<PlacedSpan> {
  let at = 0;
  let taken = 0;
  for (const piece of pieces) {
    const literal = typeof piece === "number";
    const [offset, length] = literal ? [taken, piece] : piece;
    yield { at, file: literal ? literals! : copies, offset, length, literal };
    if (literal) taken += length;
    at += length;
  }
}

/** Whether the base file has these bytes at the same place. */
const staysPut = ({ at, offset, literal }: PlacedSpan): boolean => !literal && at === offset;
