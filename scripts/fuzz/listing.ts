import { hash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Path → SHA-256 in hex of a file, null for a folder, a word for anything else. */
export type Listing = Record<string, string | null>;

/** Lists all files and folders below a folder. Links are not followed. */
export function listingOf(folder: string): Listing {
  const found: Listing = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const content = entry.isDirectory() ? null : entry.isFile() ? hash("sha256", readFileSync(path), "hex") : "special";
    found[path.slice(folder.length + 1)] = content;
  }
  return found;
}

/**
 * Returns the files of a listing. Readers differ in which folders are named and which only implied, and in the form of
 * accents.
 */
export const filesOf = (listing: Listing): [string, string][] =>
  Object.entries(listing)
    .filter((entry): entry is [string, string] => entry[1] !== null)
    .map(([path, sha256]): [string, string] => [path.normalize("NFC"), sha256])
    .toSorted();

/** Returns a listing without its one top-level folder, which the product removes from a ZIP. */
export function flattened(listing: Listing): Listing {
  const paths = Object.keys(listing);
  const top = paths[0]?.split("/", 1)[0];
  const prefix = `${top}/`;
  if (!paths.every((path) => path.startsWith(prefix) || (path === top && listing[path] === null))) return listing;
  return Object.fromEntries(Object.entries(listing).map(([path, sha256]) => [path.slice(prefix.length), sha256]));
}
