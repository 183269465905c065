import { hash } from "node:crypto";
import { paceBuffers } from "../../support/buffer-pacing.ts";
import type { FileTable } from "../tree/file-table.ts";
import { writeNewFile } from "../tree/new-file.ts";
import { FileWindow } from "./file-window.ts";
import type { MemberTable } from "./member-table.ts";
import { isSmall, smallContent } from "./unzip-member.ts";

/** Bytes that are unpacked before the event loop has its turn, and before a thread asks for more. */
const BATCH_BYTES = 1024 * 1024;
/** The weight of a small file beside its bytes. */
const FILE_COST_BYTES = 16 * 1024;
/** Bytes that are read from the archive at a time. */
const WINDOW_BYTES = 256 * 1024;

/** Bytes that hang on an inflater besides its output. */
const INFLATER_BYTES = 4096;

/** Members from one index up to another; large ones among them are left out. */
export type Batch = readonly [from: number, to: number];

/** The work that two threads unpack together. */
export interface UnzipJob {
  /** The archive. */
  path: string;
  /** The path to write to; its folders exist already. */
  folder: string;
  members: MemberTable;
  /** The members under the paths that they get. */
  files: FileTable;
  batches: readonly Batch[];
}

/** Neighbours in the archive, about a mebibyte together. */
export function batchesOf(members: MemberTable): Batch[] {
  const batches: Batch[] = [];
  let from = 0;
  let cost = 0;
  for (let index = 0; index < members.length; index++) {
    const sizes = members.sizesOf(index);
    if (isSmall(sizes)) cost += sizes.uncompressedSize + FILE_COST_BYTES;
    if (cost === 0 || (cost < BATCH_BYTES && index < members.length - 1)) continue;
    batches.push([from, index + 1]);
    from = index + 1;
    cost = 0;
  }
  return batches;
}

const NEXT = 0;
const HELPER_BYTES = 1;
const CLOSED = 2;

/** Which batch is next, for all threads. */
export class BatchQueue {
  readonly shared: BigInt64Array<SharedArrayBuffer>;
  readonly #batches: readonly Batch[];

  constructor(batches: readonly Batch[], shared = new BigInt64Array(new SharedArrayBuffer(24))) {
    this.#batches = batches;
    this.shared = shared;
  }

  take(): Batch | undefined {
    return this.#batches[Number(Atomics.add(this.shared, NEXT, 1n))];
  }

  /** Nobody takes another batch. */
  close(): void {
    Atomics.store(this.shared, CLOSED, 1n);
    Atomics.store(this.shared, NEXT, BigInt(this.#batches.length));
  }

  /** True when it was closed, rather than emptied: there may be batches that nobody took. */
  get closed(): boolean {
    return Atomics.load(this.shared, CLOSED) === 1n;
  }

  /** Bytes of files that the second thread has written so far. */
  get helperBytes(): number {
    return Number(Atomics.load(this.shared, HELPER_BYTES));
  }

  set helperBytes(bytes: number) {
    Atomics.store(this.shared, HELPER_BYTES, BigInt(bytes));
  }
}

/**
 * Unpacks batches until there are no more.
 *
 * @param descriptor of the archive
 * @yields the bytes of files written, after each batch
 * @throws ArtifactError `zip_invalid`
 */
export function* unpackBatches(descriptor: number, job: UnzipJob, queue: BatchQueue): Generator<number> {
  const { members, files, folder } = job;
  const archive = new FileWindow(descriptor, WINDOW_BYTES);
  const pace = paceBuffers("inflated");
  for (let batch = queue.take(); batch !== undefined; batch = queue.take()) {
    let bytes = 0;
    for (let index = batch[0]; index < batch[1]; index++) {
      const member = members.at(index);
      if (!isSmall(member)) continue;
      const content = smallContent(archive, member);
      const mtimeMs = writeNewFile(`${folder}/${files.pathAt(index)}`, content, member.executable);
      files.wrote(index, { sha256: hash("sha256", content, "buffer"), mtimeMs });
      bytes += content.length;
      // Stored bytes stay in the window.
      if (member.method !== 0) pace(content.length + INFLATER_BYTES);
    }
    yield bytes;
  }
}
