import { rename } from "node:fs/promises";
import { join } from "node:path";
import type { Manifest } from "../../contract/files/manifest.ts";
import { MANIFEST_FILE } from "../../contract/files/manifest.ts";
import { makeFolder } from "../../support/files.ts";
import { type OpenOptions, unpackVerified } from "../project/open.ts";
import { Unpacker } from "../project/unpacker.ts";
import type { TreeListing } from "../tree/tree-listing.ts";
import { completeTree } from "./complete-tree.ts";
import { deltaInvalid } from "./delta-lines.ts";
import { type BaseTree, planTree } from "./plan-tree.ts";

export interface OpenDeltaOptions extends OpenOptions {
  /** The base, which may still be read while the delta comes. */
  base: BaseTree | Promise<BaseTree>;
  /** The version that was asked for, and the digest of its tree where that is known. Default: any. */
  expected?: ExpectedVersion;
  /** An empty private folder for the whole tree. The caller removes it if this function throws. */
  output: string;
}

/** The version that a delta must lead to. */
export interface ExpectedVersion {
  projectId: string;
  version: string;
  contentSha256?: string | undefined;
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
 * (docs/contract/delta.md). Signature and tag of the delta are checked before anything of it is read, and the whole
 * tree is planned and checked before a file of it is made, so a delta can do no more than the full artifact.
 *
 * @throws ArtifactError with the codes of exit 4; whatever the source throws
 */
export async function openDelta(source: AsyncIterable<Buffer>, options: OpenDeltaOptions): Promise<CompletedTree> {
  const { staging, output, limits, signal } = options;
  let received = 0;
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      received += chunk.length;
      yield chunk;
    }
  }
  const { manifest, files } = await unpack(counted(), options);
  checkVersion(manifest, options.expected);
  const base = await options.base;
  const plan = await planTree({ folder: staging, bytes: received, files, manifest }, base, limits);
  await makeFolder(output, 0o700);
  await completeTree(plan, { delta: staging, base, output, signal });
  await rename(join(staging, MANIFEST_FILE), join(output, MANIFEST_FILE));
  const listing = { files: plan.files, emptyFolders: plan.emptyFolders };
  return { manifest, entries: plan.entries, files: plan.files.length + 1, bytes: plan.bytes, listing };
}

/** Unpacks a delta on a thread whose memory is free again when the tree is planned. */
async function unpack(source: AsyncIterable<Buffer>, options: OpenDeltaOptions) {
  await using unpacker = new Unpacker(options.staging, options.limits, options.onUnpacked);
  return await unpackVerified(source, unpacker, options);
}

/** A delta that carries another signed manifest is of no use; the full artifact may be. */
function checkVersion(manifest: Manifest, expected: ExpectedVersion | undefined): void {
  if (expected === undefined) return;
  const { projectId, version, contentSha256 = manifest.content_sha256 } = expected;
  if (manifest.project_id !== projectId || manifest.version !== version)
    throw deltaInvalid(`its manifest is that of ${manifest.project_id} ${manifest.version}`);
  if (manifest.content_sha256 !== contentSha256) throw deltaInvalid("its manifest is that of another tree");
}
