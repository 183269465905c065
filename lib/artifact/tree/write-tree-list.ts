import { closeSync, openSync, writeFileSync } from "node:fs";
import type { TreeEntry } from "./tree-index.ts";

/** Lines are written together, in about so many characters. */
const CHARACTERS_PER_WRITE = 64 * 1024;

/** The line of an entry, with its newline. Chunks and times are not part of it. */
export function lineOf(entry: TreeEntry): string {
  if (entry.type === "folder") return `${JSON.stringify({ folder: entry.path })}\n`;
  const { path, executable, size, sha256 } = entry;
  return `${JSON.stringify({ file: path, executable, size, sha256 })}\n`;
}

/** The line of an entry in the list of a tree: with the time of a file that was written just now. */
function timedLineOf(entry: TreeEntry): string {
  if (entry.type === "folder" || entry.mtimeMs === undefined) return lineOf(entry);
  const { path, executable, size, sha256, mtimeMs } = entry;
  return `${JSON.stringify({ file: path, executable, size, sha256, mtime_ms: mtimeMs })}\n`;
}

/** Writes the list of a tree to a new file. Synchronous: it runs where the tree was written. */
export function writeTreeList(file: string, entries: Iterable<TreeEntry>): void {
  const descriptor = openSync(file, "wx", 0o644);
  try {
    let lines = "";
    for (const entry of entries) {
      lines += timedLineOf(entry);
      if (lines.length < CHARACTERS_PER_WRITE) continue;
      writeFileSync(descriptor, lines);
      lines = "";
    }
    writeFileSync(descriptor, lines);
  } finally {
    closeSync(descriptor);
  }
}
