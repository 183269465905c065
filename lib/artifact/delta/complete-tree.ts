import { createHash } from "node:crypto";
import { chmodSync, constants, copyFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { artifactError, type SealiftError } from "../../contract/errors.ts";
import type { Limits } from "../limits.ts";
import { NewFile } from "../tree/new-file.ts";
import { readLines } from "../tree/read-lines.ts";
import { quoted } from "../tree/safe-path.ts";
import { comparePaths } from "../tree/tree-digest.ts";
import type { FileEntry, TreeEntry } from "../tree/tree-index.ts";
import { TreeWriter } from "../tree/tree-writer.ts";
import {
  DELTA_FILE,
  deltaInvalid,
  type DeltaLine,
  memberPath,
  parseHeader,
  parseLine,
  pathOfLine,
  type PutLine,
} from "./delta-lines.ts";
import { RegularFile } from "./regular-file.ts";

/** The tree that a delta is applied to: what was verified when it was installed, and where its files are now. */
export interface BaseTree {
  version: string;
  /** Lower-case hex of its manifest. */
  contentSha256: string;
  /** Files and empty folders in canonical order. */
  entries: readonly TreeEntry[];
  /** Returns the place of one of its files on this disk. */
  pathOf: (path: string) => string;
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
  /** Called now and then with the bytes of files that are complete. */
  onCompleted?: (bytes: number) => void;
}

/** Bytes of one line: a file of many GiB with an edit every few KiB stays below it. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const BLOCK_BYTES = 1024 * 1024;
/** Bytes that are copied before the event loop has its turn; a file counts for some of them. */
const TURN_BYTES = 4 * 1024 * 1024;
const FILE_COST_BYTES = 16 * 1024;

const baseChanged = (path: string, why: string): SealiftError =>
  artifactError("delta_base_changed", `${quoted(path)} of the running release ${why}.`, {
    hint: "The full artifact is used instead. A plugin should write below its data/ only.",
  });

/**
 * Completes a tree from a delta and the release that it was made for. What no line names is taken from the base as it is, by reflink
 * where the file system can. Every file is hashed as it is taken; the caller compares the whole tree with the manifest.
 *
 * @returns the writer of the tree, with the digest of each file
 * @throws ArtifactError `delta_invalid`, `delta_base_changed`, `member_*`, `limit_exceeded`
 */
export async function completeTree(options: CompleteOptions): Promise<TreeWriter> {
  const { base, delta, deltaFiles, expected, signal } = options;
  const completion = new Completion(options);
  const lines = readLines(join(delta, DELTA_FILE), MAX_LINE_BYTES);
  try {
    const first = await lines.next();
    checkHeader(first.done === true ? "" : first.value, base, expected);
    let at = 0;
    let number = 1;
    let before: string | undefined;
    for await (const text of lines) {
      const line = parseLine(text, ++number);
      const path = pathOfLine(line);
      if (before !== undefined && comparePaths(before, path) >= 0)
        throw deltaInvalid(`line ${number} names ${quoted(path)} twice or out of order`);
      before = path;
      while (at < base.entries.length && comparePaths(base.entries[at]!.path, path) < 0)
        await completion.keep(base.entries[at++]!);
      const replaced = base.entries[at]?.path === path ? base.entries[at++] : undefined;
      await completion.apply(line, replaced !== undefined);
      signal?.throwIfAborted();
    }
    while (at < base.entries.length) {
      await completion.keep(base.entries[at++]!);
      signal?.throwIfAborted();
    }
    completion.finish(deltaFiles);
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

class Completion {
  readonly tree: TreeWriter;
  readonly #options: CompleteOptions;
  readonly #files: ReadonlyMap<string, FileEntry>;
  readonly #buffer = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  #members = 0;
  #sinceTurn = 0;
  /** Whether this file system shares blocks between files; undefined until it was tried. */
  #reflinks: boolean | undefined;

  constructor(options: CompleteOptions) {
    this.#options = options;
    this.tree = new TreeWriter(options.output, options.limits);
    this.#files = new Map(
      options.base.entries.flatMap((entry) => (entry.type === "file" ? [[entry.path, entry]] : [])),
    );
  }

  /** Takes an entry of the base as it is. */
  async keep(entry: TreeEntry): Promise<void> {
    if (entry.type === "folder") this.tree.folder(`${entry.path}/`);
    else this.#copyBase(entry, entry.path, entry.executable);
    await this.#turn(entry.type === "file" ? entry.size : 0);
  }

  async apply(line: DeltaLine, replaces: boolean): Promise<void> {
    if ("drop" in line) {
      if (!replaces) throw deltaInvalid(`it drops ${quoted(line.drop)}, which the base does not have`);
      return;
    }
    if ("folder" in line) this.tree.folder(`${line.folder}/`);
    else this.#put(line);
    await this.#turn("put" in line ? line.size : 0);
  }

  /** Makes sure that the delta holds nothing that no line named. @throws ArtifactError `delta_invalid` */
  finish(deltaFiles: number): void {
    // The manifest and the lines themselves are files, too.
    if (deltaFiles !== this.#members + 2) throw deltaInvalid("it holds files that no line names");
    this.#options.onCompleted?.(this.tree.bytes);
  }

  #put(line: PutLine): void {
    const { put, executable, size, sha256, base, member, pieces } = line;
    if (member !== undefined && member !== ++this.#members)
      throw deltaInvalid(`${quoted(put)} takes its bytes out of order`);
    const source = base === undefined ? undefined : this.#files.get(base);
    if (base !== undefined && source === undefined)
      throw deltaInvalid(`${quoted(put)} copies ${quoted(base)}, which the base does not have`);
    if (pieces !== undefined) {
      this.#checkPieces(line, source);
      this.#assemble(line, source!);
    } else if (source !== undefined) {
      if (member !== undefined || source.sha256 !== sha256 || source.size !== size)
        throw deltaInvalid(`${quoted(put)} is no copy of ${quoted(base!)}`);
      this.#copyBase(source, put, executable);
    } else if (member !== undefined) {
      this.#write(put, size, executable, sha256, () =>
        this.#rangesOf(join(this.#options.delta, memberPath(member)), size),
      );
    } else if (size === 0) this.#write(put, 0, executable, sha256, function* () {});
    else throw deltaInvalid(`${quoted(put)} has no source for its bytes`);
  }

  /** Lengths and ranges are counted before a byte is written: a short line must not become gigabytes. */
  #checkPieces({ put, size, member, pieces }: PutLine, source: FileEntry | undefined): void {
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

  #assemble({ put, size, executable, sha256, member, pieces }: PutLine, source: FileEntry): void {
    const { base, delta } = this.#options;
    using copies = new RegularFile(base.pathOf(source.path), source.size, () =>
      baseChanged(source.path, "has another size"),
    );
    const fresh = pieces!.reduce<number>((sum, piece) => sum + (typeof piece === "number" ? piece : 0), 0);
    using literals =
      member === undefined
        ? undefined
        : new RegularFile(join(delta, memberPath(member)), fresh, () =>
            deltaInvalid(`the new bytes of ${quoted(put)} have another length than its pieces say`),
          );
    const buffer = this.#buffer;
    this.#write(put, size, executable, sha256, function* () {
      let taken = 0;
      for (const piece of pieces!) {
        if (typeof piece !== "number") yield* copies.range(piece[0], piece[1], buffer);
        else {
          yield* literals!.range(taken, piece, buffer);
          taken += piece;
        }
      }
    });
  }

  /** Writes one file from blocks that share one buffer, and checks its digest. */
  #write(path: string, size: number, executable: boolean, sha256: string, blocks: () => Iterable<Buffer>): void {
    const target = this.tree.claimFile(path, size);
    const digest = createHash("sha256");
    using file = new NewFile(target, executable);
    let written = 0;
    for (const block of blocks()) {
      digest.update(block);
      file.write(block);
      written += block.length;
    }
    const found = digest.digest("hex");
    if (written !== size || found !== sha256)
      throw deltaInvalid(`${quoted(path)} is not the file that its line describes`);
    this.tree.recordFile(path, size, executable, found);
  }

  *#rangesOf(file: string, size: number): Generator<Buffer> {
    using source = new RegularFile(file, size, () =>
      deltaInvalid("a file of new bytes has another length than its line says"),
    );
    yield* source.range(0, size, this.#buffer);
  }

  /** A file of the base under a path of the new tree, hashed as it lies there afterwards. */
  #copyBase(entry: FileEntry, path: string, executable: boolean): void {
    const from = this.#options.base.pathOf(entry.path);
    const target = this.tree.claimFile(path, entry.size);
    if (this.#reflinks !== false && this.#clone(from, target)) {
      chmodSync(target, executable ? 0o755 : 0o644);
      using clone = new RegularFile(target, entry.size, () => baseChanged(entry.path, "has another size"));
      this.#record(entry, path, executable, hashOf(clone.range(0, entry.size, this.#buffer)));
      return;
    }
    using source = new RegularFile(from, entry.size, () => baseChanged(entry.path, "has another size"));
    using file = new NewFile(target, executable);
    const write = (block: Buffer): void => file.write(block);
    this.#record(entry, path, executable, hashOf(source.range(0, entry.size, this.#buffer), write));
  }

  #record(entry: FileEntry, path: string, executable: boolean, found: string): void {
    if (found !== entry.sha256) throw baseChanged(entry.path, "was changed since it was installed");
    this.tree.recordFile(path, entry.size, executable, found);
  }

  /** Shares the blocks of a regular file where the file system can. */
  #clone(from: string, target: string): boolean {
    try {
      copyFileSync(from, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE);
      this.#reflinks = true;
      return true;
    } catch (error) {
      if (this.#reflinks === true) throw error;
      this.#reflinks = false;
      return false;
    }
  }

  /** Copying is synchronous: lets signals and progress through now and then. */
  async #turn(bytes: number): Promise<void> {
    this.#sinceTurn += bytes + FILE_COST_BYTES;
    if (this.#sinceTurn < TURN_BYTES) return;
    this.#sinceTurn = 0;
    this.#options.onCompleted?.(this.tree.bytes);
    await nextTurn();
    this.#options.signal?.throwIfAborted();
  }
}

/** SHA-256 of blocks, in lower-case hex; each goes to `write`, too. */
function hashOf(blocks: Iterable<Buffer>, write?: (block: Buffer) => void): string {
  const digest = createHash("sha256");
  for (const block of blocks) {
    write?.(block);
    digest.update(block);
  }
  return digest.digest("hex");
}
