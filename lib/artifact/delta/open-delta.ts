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
  /** Base, which may still be read while the delta arrives. */
  base: BaseTree | Promise<BaseTree>;
  /** Requested version, and the digest of its tree if known. Default: any. */
  expected?: ExpectedVersion;
  /** Empty private folder for the whole tree. The caller removes it if this function throws. */
  output: string;
}

/** Version that a delta must lead to. */
export interface ExpectedVersion {
  projectId: string;
  version: string;
  contentSha256?: string | undefined;
}

/** Tree completed from a delta and its base release. */
export interface CompletedTree {
  manifest: Manifest;
  entries: number;
  files: number;
  /** Total size of all files, in bytes. */
  bytes: number;
  /** Tree without its manifest. */
  listing: TreeListing;
}

/**
 * Opens a delta and completes its tree, which equals that of the full artifact to the last byte
 * (docs/contract/delta.md). Verifies signature and tag of the delta before reading it, and plans and checks the whole
 * tree before writing a file, so that a delta can do no more than the full artifact.
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

/** Unpacks a delta on a thread, whose memory is freed once the tree is planned. */
async function unpack(source: AsyncIterable<Buffer>, options: OpenDeltaOptions) {
  await using unpacker = new Unpacker(options.staging, options.limits, options.onUnpacked);
  return await unpackVerified(source, unpacker, options);
}

/**
 * Requires the signed manifest of the expected version; otherwise the delta is useless, though the full artifact may
 * not be.
 */
function checkVersion(manifest: Manifest, expected: ExpectedVersion | undefined): void {
  if (expected === undefined) return;
  const { projectId, version, contentSha256 = manifest.content_sha256 } = expected;
  if (manifest.project_id !== projectId || manifest.version !== version)
    throw deltaInvalid(`its manifest is that of ${manifest.project_id} ${manifest.version}`);
  if (manifest.content_sha256 !== contentSha256) throw deltaInvalid("its manifest is that of another tree");
}
