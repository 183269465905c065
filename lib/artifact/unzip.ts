import { closeSync, openSync } from "node:fs";
import { availableParallelism } from "node:os";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Limits } from "./limits.ts";
import { TreeWriter } from "./tree-writer.ts";
import { BatchQueue, batchesOf, unpackBatches } from "./unzip-batches.ts";
import { UnzipHelper } from "./unzip-helper.ts";
import { isSmall, unpackLarge } from "./unzip-member.ts";
import type { ZipIndex } from "./zip.ts";

/** With fewer batches the start of a thread takes longer than what it would do. */
const HELPED_BATCHES = 16;

export interface UnzipOptions {
  limits: Limits;
  signal?: AbortSignal;
  /** Called now and then with the bytes of files written so far. */
  onUnpacked?: (bytes: number) => void;
}

export interface Unzipped {
  files: number;
  bytes: number;
  /** Digests of the files, by the paths that they have now. */
  tree: TreeWriter["files"];
}

/**
 * Unpacks a scanned archive into an empty, private folder; a single top folder is flattened. Sizes and CRCs are checked on what comes out.
 * Small files are unpacked in batches, many of them by two threads.
 *
 * @throws ArtifactError `zip_invalid` for bytes that are not what the archive says
 */
export async function unzip(path: string, index: ZipIndex, folder: string, options: UnzipOptions): Promise<Unzipped> {
  const { limits, signal, onUnpacked } = options;
  const strip = index.topFolder === undefined ? 0 : 1;
  const tree = new TreeWriter(folder, limits);
  const small = index.files.filter(isSmall);
  const batches = batchesOf(small);
  const queue = new BatchQueue(batches);
  const job = { path, folder, limits, strip, members: small, batches };
  const descriptor = openSync(path, "r");
  const helped = batches.length >= HELPED_BATCHES && availableParallelism() > 1;
  await using helper = helped ? new UnzipHelper(job, queue) : undefined;
  const bytes = (): number => tree.bytes + queue.helperBytes;
  const turn = async (): Promise<void> => {
    onUnpacked?.(bytes());
    await nextTurn();
    signal?.throwIfAborted();
    helper?.check();
  };
  try {
    for (const components of index.folders)
      if (components.length > strip) tree.folder(components.slice(strip).join("/"));
    for (const member of index.files) {
      if (isSmall(member)) continue;
      await unpackLarge(path, member, strip, tree, signal);
      await turn();
    }
    // Writing is synchronous: signals and progress come through now and then.
    for (const _batch of unpackBatches(descriptor, job, queue, tree)) await turn();
    for (const file of (await helper?.files()) ?? []) tree.files.add(...file);
    onUnpacked?.(bytes());
    return { files: index.files.length, bytes: bytes(), tree: tree.files };
  } finally {
    tree.close();
    closeSync(descriptor);
  }
}
