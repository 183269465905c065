import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { paceBuffers } from "../../support/buffer-pacing.ts";
import { Turns } from "../../support/turns.ts";
import { NewFile } from "../tree/new-file.ts";
import { quoted } from "../tree/safe-path.ts";
import { deltaInvalid, eachPiece, memberPath } from "./delta-lines.ts";
import { checkCopied, FileCopier, type FileCopy, LARGE_FILE_BYTES, otherSize } from "./file-copier.ts";
import type { BaseTree, FileSource, TreePlan } from "./plan-tree.ts";
import { patchClone } from "./reflinks.ts";
import { RegularFile } from "./regular-file.ts";

export interface CompleteOptions {
  /** Folder with the unpacked delta. */
  delta: string;
  base: BaseTree;
  /** Empty private folder for the whole tree. The caller removes it if this function throws. */
  output: string;
  signal?: AbortSignal | undefined;
}

/** Cost of a small file beyond its bytes, in bytes, as counted towards yielding to the event loop. */
const FILE_COST_BYTES = 16 * 1024;
/** Approximate characters of the paths and the digest of a copied file. */
const FILE_TEXT = 256;

/** Range of an open file, with its place in a new one. */
interface Span {
  file: RegularFile;
  offset: number;
  length: number;
  at: number;
}

/**
 * Builds the files of a planned tree from a delta and its base release, by reflink where the file system can. Hashes
 * every file as it is copied, and compares it with the plan.
 *
 * @throws ArtifactError `delta_invalid`, `delta_base_changed`
 */
export async function completeTree(plan: TreePlan, options: CompleteOptions): Promise<void> {
  makeFolders(plan, options.output);
  const completion = new Completion(plan, options);
  for (let file = 0; file < plan.files.length; file++) {
    const busy = completion.make(file);
    if (busy !== undefined) await busy;
  }
}

function makeFolders({ files, emptyFolders }: TreePlan, output: string): void {
  const made = new Set([""]);
  const make = (folder: string): void => {
    if (made.has(folder)) return;
    made.add(folder);
    mkdirSync(join(output, folder), { recursive: true, mode: 0o755 });
  };
  for (let file = 0; file < files.length; file++) {
    const path = files.pathAt(file);
    make(path.slice(0, Math.max(0, path.lastIndexOf("/"))));
  }
  emptyFolders.forEach(make);
}

class Completion {
  readonly #plan: TreePlan;
  readonly #options: CompleteOptions;
  readonly #copier = new FileCopier();
  readonly #turns: Turns;
  readonly #pace = paceBuffers("lines");
  readonly #buffer = Buffer.allocUnsafeSlow(LARGE_FILE_BYTES);

  constructor(plan: TreePlan, options: CompleteOptions) {
    this.#plan = plan;
    this.#options = options;
    this.#turns = new Turns(options.signal);
  }

  /**
   * Makes one file. @returns undefined once it is done: a promise for each small file would cost as much as its bytes
   */
  make(index: number): Promise<void> | undefined {
    const { files } = this.#plan;
    const source = this.#plan.sourceOf(index);
    const size = files.sizeAt(index);
    if (source.base === undefined || source.pieces !== undefined || size > LARGE_FILE_BYTES)
      return this.#make(index, source);
    files.setTime(index, this.#copier.copy(this.#copyOf(index, source.base)));
    this.#pace(FILE_TEXT);
    return this.#turns.after(size + FILE_COST_BYTES);
  }

  #copyOf(index: number, base: number): FileCopy {
    const { files } = this.#plan;
    const { files: earlier, pathOf } = this.#options.base;
    return {
      path: earlier.pathAt(base),
      from: pathOf(base),
      to: this.#target(index),
      executable: files.isExecutable(index),
      size: files.sizeAt(index),
      sha256: files.sha256At(index),
    };
  }

  #target(index: number): string {
    return `${this.#options.output}/${this.#plan.files.pathAt(index)}`;
  }

  /** Makes a large file, or one that has new bytes. */
  async #make(index: number, { base, member, pieces }: FileSource): Promise<void> {
    const path = this.#plan.files.pathAt(index);
    const size = this.#plan.files.sizeAt(index);
    const copy = base === undefined ? undefined : this.#copyOf(index, base);
    using copied =
      copy && new RegularFile(copy.from, this.#options.base.files.sizeAt(base!), () => otherSize(copy.path));
    let fresh = pieces === undefined ? size : 0;
    for (const { length, isNew } of eachPiece(pieces ?? new Float64Array())) if (isNew) fresh += length;
    const wrongMember = () => deltaInvalid(`the new bytes of ${quoted(path)} have another length than its line says`);
    using added =
      member === undefined
        ? undefined
        : new RegularFile(join(this.#options.delta, memberPath(member)), fresh, wrongMember);
    const spans = (): Iterable<Span> => {
      if (pieces !== undefined) return spansOf(pieces, copied!, added);
      const whole = copied ?? added;
      return whole === undefined ? [] : [{ file: whole, offset: 0, length: size, at: 0 }];
    };
    const found = await this.#write(index, spans, copied && { file: copied, from: copy.from });
    if (found === this.#plan.files.sha256At(index)) return;
    if (pieces === undefined && copy !== undefined) checkCopied(copy, found);
    throw deltaInvalid(`${quoted(path)} is not the file that its line describes`);
  }

  /**
   * Writes a new file. Where parts of it keep their offset from a base file, and the file system can, it starts as a
   * copy that shares that file's blocks.
   *
   * @returns its digest
   */
  async #write(
    index: number,
    spans: () => Iterable<Span>,
    base: { file: RegularFile; from: string } | undefined,
  ): Promise<string> {
    const target = this.#target(index);
    const executable = this.#plan.files.isExecutable(index);
    const staysPut = ({ file, at, offset }: Span): boolean => file === base?.file && at === offset;
    const moved = Iterator.from(spans()).filter((span) => !staysPut(span));
    const shares = base !== undefined && Iterator.from(spans()).some(staysPut);
    if (shares && this.#copier.reflinks.clone(base.from, target, executable)) {
      const size = this.#plan.files.sizeAt(index);
      const blocksOf = ({ file, offset, length }: Span) => file.range(offset, length, this.#buffer);
      patchClone(
        target,
        size,
        moved.map((span) => ({ at: span.at, blocks: blocksOf(span) })),
      );
      using clone = new RegularFile(target, size, () => otherSize(target));
      return await this.#digest([{ file: clone, offset: 0, length: size, at: 0 }]);
    }
    using written = new NewFile(target, executable);
    return await this.#digest(spans(), (block) => written.write(block));
  }

  async #digest(spans: Iterable<Span>, onBlock?: (block: Buffer) => void): Promise<string> {
    const digest = createHash("sha256");
    for (const { file, offset, length } of spans)
      for (const block of file.range(offset, length, this.#buffer)) {
        onBlock?.(block);
        digest.update(block);
        const turn = this.#turns.after(block.length);
        if (turn !== undefined) await turn;
      }
    return digest.digest("hex");
  }
}

/** Yields the pieces of a new file, each with its place there. */
function* spansOf(pieces: Float64Array, copied: RegularFile, added: RegularFile | undefined): Generator<Span> {
  let [at, taken] = [0, 0];
  for (const { offset, length, isNew } of eachPiece(pieces)) {
    yield isNew ? { file: added!, offset: taken, length, at } : { file: copied, offset, length, at };
    if (isNew) taken += length;
    at += length;
  }
}
