import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import type { Manifest } from "../../contract/files/manifest.ts";
import { MANIFEST_FILE } from "../../contract/files/manifest.ts";
import { checkDigests, embeddedFolders, type OpenOptions, openPartial } from "../project/open.ts";
import { writeTreeList } from "../tree/tree-list.ts";
import { type BaseTree, completeTree } from "./complete-tree.ts";

export interface OpenDeltaOptions extends OpenOptions {
  base: BaseTree;
  /** The version that was asked for. */
  expected: { projectId: string; version: string };
  /** An empty private folder for the whole tree. The caller removes it if this function throws. */
  output: string;
  /** The path that the list of the finished tree is written to, as {@link OpenOptions.list} is. */
  list?: string;
  /** Called now and then with the bytes of files that are complete. */
  onCompleted?: (bytes: number) => void;
}

/** A tree that was completed from a delta and the release that it was made for. */
export interface CompletedTree {
  manifest: Manifest;
  entries: number;
  files: number;
  /** Bytes of all files. */
  bytes: number;
}

/**
 * Opens a delta and completes its tree: the very tree that the full artifact holds, to the last byte, or an error
 * (docs/contract/delta.md). Signature and tag of the delta are checked before anything of it is read, and the digests of the manifest
 * cover every file of the finished tree, so a delta can do no more than the full artifact.
 *
 * @throws ArtifactError with the codes of exit 4; whatever the source throws
 */
export async function openDelta(source: Readable, options: OpenDeltaOptions): Promise<CompletedTree> {
  const { staging, output, limits, list } = options;
  const opened = await openPartial(source, options);
  await mkdir(output, { recursive: true, mode: 0o700 });
  const tree = await completeTree({
    delta: staging,
    deltaFiles: opened.files,
    base: options.base,
    expected: options.expected,
    output,
    limits,
    ...(options.signal && { signal: options.signal }),
    ...(options.onCompleted && { onCompleted: options.onCompleted }),
  });
  const folders = embeddedFolders(opened.manifest);
  checkDigests(
    {
      content: tree.files.digest(),
      folders: Object.fromEntries(folders.map((folder) => [folder, tree.files.digestOfFolder(folder) ?? null])),
    },
    opened.manifest,
  );
  if (list !== undefined) writeTreeList(list, tree.list());
  await rename(join(staging, MANIFEST_FILE), join(output, MANIFEST_FILE));
  return { manifest: opened.manifest, entries: tree.entries, files: tree.files.size + 1, bytes: tree.bytes };
}
