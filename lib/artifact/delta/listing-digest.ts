import { createHash } from "node:crypto";
import { listedInOrder, type TreeListing } from "../tree/tree-listing.ts";

/** Characters of lines that are hashed at once. */
const BATCH = 64 * 1024;

/**
 * Returns the digest of a tree's listing in lower-case hex: beside names and contents it covers what the tree digest
 * does not, which files are executable and which folders are empty (docs/contract/delta.md#listing-digest).
 */
export function listingDigest(listing: TreeListing): string {
  const { files } = listing;
  const digest = createHash("sha256");
  let text = "";
  for (const { file, path } of listedInOrder(listing)) {
    text +=
      file === undefined
        ? `folder ${path}\n`
        : `${files.isExecutable(file) ? "executable" : "file"} ${files.sha256At(file)} ${path}\n`;
    if (text.length < BATCH) continue;
    digest.update(text);
    text = "";
  }
  return digest.update(text).digest("hex");
}
