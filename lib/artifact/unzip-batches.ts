import { paceBuffers } from "../support/buffer-pacing.ts";
import { FileWindow } from "./file-window.ts";
import type { Limits } from "./limits.ts";
import type { TreeWriter } from "./tree-writer.ts";
import { unpackSmall } from "./unzip-member.ts";
import type { ZipMember } from "./zip.ts";

/** Bytes that are unpacked before the event loop has its turn, and before a thread asks for more. */
const BATCH_BYTES = 1024 * 1024;
/** What a small file counts for beside its bytes. */
const FILE_COST_BYTES = 16 * 1024;
/** Bytes that inflating a file leaves beside its own: zlib's window and tables. */
const INFLATER_BYTES = 64 * 1024;
/** Bytes that are read from the archive at a time. */
const WINDOW_BYTES = 256 * 1024;

/** Members from one index up to another. */
export type Batch = readonly [from: number, to: number];

/** What two threads unpack together. */
export interface UnzipJob {
  path: string;
  folder: string;
  limits: Limits;
  /** Components that are left away at the start of each name. */
  strip: number;
  /** Small ones. */
  members: readonly ZipMember[];
  batches: readonly Batch[];
}

/** Neighbours in the archive, about a mebibyte together. */
export function batchesOf(members: readonly ZipMember[]): Batch[] {
  const batches: Batch[] = [];
  let from = 0;
  let cost = 0;
  for (const [index, { uncompressedSize }] of members.entries()) {
    cost += uncompressedSize + FILE_COST_BYTES;
    if (cost < BATCH_BYTES && index < members.length - 1) continue;
    batches.push([from, index + 1]);
    from = index + 1;
    cost = 0;
  }
  return batches;
}

const NEXT = 0;
const HELPER_BYTES = 1;

/** Which batch is next, for all threads. */
export class BatchQueue {
  readonly shared: BigInt64Array<SharedArrayBuffer>;
  readonly #batches: readonly Batch[];

  constructor(batches: readonly Batch[], shared = new BigInt64Array(new SharedArrayBuffer(16))) {
    this.#batches = batches;
    this.shared = shared;
  }

  take(): Batch | undefined {
    return this.#batches[Number(Atomics.add(this.shared, NEXT, 1n))];
  }

  /** Nobody takes another batch. */
  close(): void {
    Atomics.store(this.shared, NEXT, BigInt(this.#batches.length));
  }

  /** Bytes of files that the second thread has written so far. */
  get helperBytes(): number {
    return Number(Atomics.load(this.shared, HELPER_BYTES));
  }

  set helperBytes(bytes: number) {
    Atomics.store(this.shared, HELPER_BYTES, BigInt(bytes));
  }
}

/** Unpacks batches until there are no more; yields after each. @throws ArtifactError */
export function* unpackBatches(
  descriptor: number,
  { members, strip }: UnzipJob,
  queue: BatchQueue,
  tree: TreeWriter,
): Generator<void> {
  const archive = new FileWindow(descriptor, WINDOW_BYTES);
  const pace = paceBuffers();
  for (let batch = queue.take(); batch !== undefined; batch = queue.take()) {
    for (const member of members.slice(...batch)) {
      unpackSmall(archive, member, strip, tree);
      pace(member.uncompressedSize + INFLATER_BYTES);
    }
    yield;
  }
}
