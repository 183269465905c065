import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import type { Manifest } from "../../contract/files/manifest.ts";
import { MANIFEST_FILE } from "../../contract/files/manifest.ts";
import { checkDigests, type OpenOptions, unpackVerified } from "../project/open.ts";
import { Unpacker } from "../project/unpacker.ts";
import type { TreeListing } from "../tree/tree-listing.ts";
import { type BaseTree, completeTree } from "./complete-tree.ts";

export interface OpenDeltaOptions extends OpenOptions {
  /** The base, which may still be read while the delta comes. */
  base: BaseTree | Promise<BaseTree>;
  /** The version that was asked for. Default: the one that the delta's own manifest names. */
  expected?: { projectId: string; version: string };
  /** An empty private folder for the whole tree. The caller removes it if this function throws. */
  output: string;
}

/** A tree that was completed from a delta and the release that it was made for. */
export interface CompletedTree {
  manifest: Manifest;
  entries: number;
  files: number;
  /** Bytes of all files. */
  bytes: number;
  /** The tree without its manifest. */
  listing: TreeListing;
}

/**
 * Opens a delta and completes its tree: the very tree that the full artifact holds, to the last byte, or an error
 * (docs/contract/delta.md). Signature and tag of the delta are checked before anything of it is read, and the digests
 * of the manifest cover every file of the finished tree, so a delta can do no more than the full artifact.
 *
 * @throws ArtifactError with the codes of exit 4; whatever the source throws
 */
export async function openDelta(source: AsyncIterable<Buffer>, options: OpenDeltaOptions): Promise<CompletedTree> {
  const { staging, output, limits } = options;
  await using unpacker = new Unpacker(staging, limits, options.onUnpacked);
  const opened = await unpackVerified(source, unpacker, options);
  const { project_id: projectId, version } = opened.manifest;
  await mkdir(output, { recursive: true, mode: 0o700 });
  const tree = await completeTree({
    delta: staging,
    deltaFiles: opened.files,
    base: await options.base,
    expected: options.expected ?? { projectId, version },
    output,
    limits,
    ...(options.signal && { signal: options.signal }),
    thread: unpacker.thread,
  });
  checkDigests(tree.files, opened.manifest);
  const listing = { files: tree.files, emptyFolders: tree.emptyFolders() };
  await rename(join(staging, MANIFEST_FILE), join(output, MANIFEST_FILE));
  return { manifest: opened.manifest, entries: tree.entries, files: tree.files.length + 1, bytes: tree.bytes, listing };
}
