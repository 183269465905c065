import { existsSync } from "node:fs";
import { join } from "node:path";
import { artifactError, usageError } from "../../contract/errors.ts";
import { MANIFEST_FILE } from "../../contract/files/manifest.ts";
import type { Limits } from "../limits.ts";
import { readManifest } from "../project/open.ts";
import { listSourceTree, NEVER_PACKED } from "../tree/source-tree.ts";
import { indexTree } from "../tree/tree-index.ts";
import type { BaseTree } from "./plan-tree.ts";

/**
 * Reads a tree that `sealift open --out` left, as the base of a delta. All of it is hashed, and must be what its
 * manifest says.
 *
 * @throws UsageError `usage` for a folder without a manifest; ArtifactError `manifest_invalid`, `delta_base_changed`
 */
export async function readBaseFolder(
  root: string,
  options: { limits: Limits; signal?: AbortSignal },
): Promise<BaseTree> {
  if (!existsSync(join(root, MANIFEST_FILE)))
    throw usageError("usage", `--base ${root} has no ${MANIFEST_FILE}.`, {
      hint: "Give the tree of an earlier version, as `sealift open --out` leaves it.",
    });
  const { version, content_sha256: contentSha256 } = await readManifest(root);
  // A tree that was unpacked holds what its publisher chose to pack, whatever it is called.
  const tree = listSourceTree(root, { limits: options.limits, include: NEVER_PACKED });
  const { files, emptyFolders } = await indexTree(tree, { chunks: false, signal: options.signal });
  if (files.digest() !== contentSha256)
    throw artifactError(
      "delta_base_changed",
      `--base ${root} is not the tree of ${version} that its manifest describes.`,
      {
        hint: "Unpack the full artifact of that version again.",
      },
    );
  return { version, contentSha256, files, emptyFolders, pathOf: (file) => join(root, files.pathAt(file)) };
}
