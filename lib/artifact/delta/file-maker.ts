import { createHash, type Hash } from "node:crypto";
import { Turns } from "../../support/turns.ts";
import type { ArtifactThread } from "../thread/artifact-thread.ts";
import { newRing, RingWriter } from "../thread/ring.ts";
import type { FileTable } from "../tree/file-table.ts";
import { NewFile } from "../tree/new-file.ts";
import {
  checkCopied,
  type CopyJob,
  CopyList,
  FileCopier,
  type FileCopy,
  LARGE_FILE_BYTES,
  otherSize,
  type WriteJob,
} from "./file-copier.ts";
import { patchClone, Reflinks } from "./reflinks.ts";
import { RegularFile } from "./regular-file.ts";

/** Bytes of an open file that belong into a new one. */
export interface Span {
  file: RegularFile;
  offset: number;
  length: number;
}

/** A span at its place in the new file. */
export interface PlacedSpan extends Span {
  at: number;
  /** True for new bytes, false for those of the base. */
  literal: boolean;
}

/** Files that one thread copies at a time: the cost of some files, so that both threads end at about the same time. */
const BATCH_BYTES = 1024 * 1024;
const FILE_COST_BYTES = 16 * 1024;
/** Batches that wait at the second thread, so that it is never without work. */
const BATCHES_AHEAD = 2;

/** Files that one thread copies, and their indices among the files of the tree. */
class Batch {
  readonly files = new CopyList();
  readonly #indices: number[] = [];
  /** Their cost: that of their bytes, and of being files. */
  bytes = 0;

  add(file: FileCopy, index: number): void {
    this.files.add(file);
    this.#indices.push(index);
    this.bytes += file.size + FILE_COST_BYTES;
  }

  date(table: FileTable, times: Float64Array): void {
    this.#indices.forEach((index, at) => table.setTime(index, times[at]!));
  }
}

/**
 * Makes the files of a completed tree with two threads. Whole files of the base are shared out in batches; this thread
 * reads and hashes a large file while the other one writes it. All of it is done only when {@link end} has returned.
 */
export class FileMaker {
  readonly #thread: ArtifactThread;
  readonly #files: FileTable;
  readonly #copier = new FileCopier();
  readonly #turns: Turns;
  readonly #reflinks = new Reflinks();
  readonly #buffer = Buffer.allocUnsafeSlow(LARGE_FILE_BYTES);
  #batch = new Batch();
  #ahead = 0;
  readonly #sent: Promise<void>[] = [];
  #failure: Error | undefined;

  /** @param files of the tree: they get their times of modification */
  constructor(thread: ArtifactThread, files: FileTable, signal?: AbortSignal) {
    this.#thread = thread;
    this.#files = files;
    this.#turns = new Turns(signal);
  }

  /**
   * Takes over a file of the base, now or later.
   *
   * @param index of the new file in the tree
   * @returns undefined when the file is taken over later: a promise for each small one would cost as much as its bytes
   * @throws ArtifactError `delta_base_changed` for this file or an earlier one
   */
  copy(file: FileCopy, index: number): Promise<void> | undefined {
    if (file.size > LARGE_FILE_BYTES) return this.#copyLarge(file);
    this.#batch.add(file, index);
    return this.#batch.bytes < BATCH_BYTES ? undefined : this.#copyBatch();
  }

  async #copyBatch(): Promise<void> {
    const batch = this.#batch;
    this.#batch = new Batch();
    if (this.#ahead < BATCHES_AHEAD) this.#send(batch);
    else this.#copyHere(batch);
    await this.#turns.now();
    if (this.#failure !== undefined) throw this.#failure;
  }

  #copyHere(batch: Batch): void {
    batch.date(this.#files, this.#copier.copy(batch.files));
  }

  #send(batch: Batch): void {
    this.#ahead++;
    const job: CopyJob = { loop: "copy", files: { ...batch.files } };
    const done = this.#thread.ask<Float64Array>(job).then(
      (times) => {
        this.#ahead--;
        batch.date(this.#files, times);
      },
      (error: Error) => void (this.#failure ??= error),
    );
    this.#sent.push(done);
  }

  async #copyLarge(file: FileCopy): Promise<void> {
    const { path, from, to, size } = file;
    using source = new RegularFile(from, size, () => otherSize(path));
    const whole = [{ file: source, offset: 0, length: size }];
    if (!this.#reflinks.clone(from, to, file.executable)) {
      checkCopied(file, await this.write(to, file, whole));
      return;
    }
    using clone = new RegularFile(to, size, () => otherSize(path));
    checkCopied(file, await this.#digestOf(clone, size));
  }

  /**
   * Makes a file that shares what stays at its place with a file of the base.
   *
   * @param moved what does not stay at its place
   * @returns the digest of the new file; undefined where the file system cannot, and nothing was made
   */
  async patch(
    from: string,
    to: string,
    { size, executable }: Pick<FileCopy, "size" | "executable">,
    moved: Iterable<PlacedSpan>,
  ): Promise<string | undefined> {
    if (!this.#reflinks.clone(from, to, executable)) return undefined;
    const buffer = this.#buffer;
    const patches = Iterator.from(moved).map(({ at, file, offset, length }) => ({
      at,
      blocks: file.range(offset, length, buffer),
    }));
    patchClone(to, size, patches);
    using clone = new RegularFile(to, size, () => otherSize(to));
    return await this.#digestOf(clone, size);
  }

  /** Writes a new file. @returns its digest */
  async write(
    to: string,
    { size, executable }: Pick<FileCopy, "size" | "executable">,
    spans: Iterable<Span>,
  ): Promise<string> {
    return size > LARGE_FILE_BYTES ? this.#writeLarge(to, executable, spans) : this.#writeSmall(to, executable, spans);
  }

  #writeSmall(to: string, executable: boolean, spans: Iterable<Span>): string {
    using written = new NewFile(to, executable);
    const digest = createHash("sha256");
    for (const { file, offset, length } of spans)
      for (const block of file.range(offset, length, this.#buffer)) {
        written.write(block);
        digest.update(block);
      }
    return digest.digest("hex");
  }

  /** Reads and hashes here, and has the other thread write the same memory. */
  async #writeLarge(to: string, executable: boolean, spans: Iterable<Span>): Promise<string> {
    const shared = newRing();
    const ring = new RingWriter(shared);
    const job: WriteJob = { loop: "write", path: to, executable, ring: shared };
    const written = this.#thread.ask<void>(job);
    written.catch(() => ring.abandon());
    const digest = createHash("sha256");
    try {
      for (const span of spans) await this.#passOn(span, ring, digest);
      ring.end(true);
    } catch (error) {
      ring.end(false);
      throw error;
    }
    await written;
    return digest.digest("hex");
  }

  async #passOn({ file, offset, length }: Span, ring: RingWriter, digest: Hash): Promise<void> {
    for (let done = 0; done < length;) {
      await ring.room();
      const place = ring.place(length - done);
      // The other thread has failed, and says why when it is asked.
      if (place.length === 0) return;
      const bytes = file.read(place, offset + done);
      digest.update(place.subarray(0, bytes));
      ring.filled(bytes);
      done += bytes;
      await this.#turns.after(bytes);
    }
  }

  async #digestOf(file: RegularFile, size: number): Promise<string> {
    const digest = createHash("sha256");
    for (const block of file.range(0, size, this.#buffer)) {
      digest.update(block);
      await this.#turns.after(block.length);
    }
    return digest.digest("hex");
  }

  /** Ends when every file is there. @throws ArtifactError `delta_base_changed` */
  async end(): Promise<void> {
    this.#copyHere(this.#batch);
    this.#batch = new Batch();
    await Promise.all(this.#sent);
    if (this.#failure !== undefined) throw this.#failure;
  }
}
