import { writeFileSync } from "node:fs";
import type { TreeEntry } from "./tree-index.ts";

/** Lines that are written with one call. */
const LINES_PER_WRITE = 500;

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
export function writeTreeList(file: string, entries: readonly TreeEntry[]): void {
  writeFileSync(file, "", { flag: "wx", mode: 0o644 });
  for (let from = 0; from < entries.length; from += LINES_PER_WRITE) {
    const lines = entries.slice(from, from + LINES_PER_WRITE).map(timedLineOf);
    writeFileSync(file, lines.join(""), { flag: "a" });
  }
}
