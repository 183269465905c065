import type { TreeEntry } from "./tree-listing.ts";

const SHA256 = /^[0-9a-f]{64}$/;

/**
 * The entry that a line of a list says, parsed as JSON: a file, or a folder that holds nothing. It is checked by hand,
 * for tens of thousands of files: a schema takes longer than the parser.
 *
 * @returns undefined for a line of another form
 */
export function listedEntry(line: unknown): TreeEntry | undefined {
  if (typeof line !== "object" || line === null) return undefined;
  const { folder, file, executable, size, sha256, mtime_ms: mtimeMs } = line as Record<string, unknown>;
  if (typeof folder === "string" && folder !== "") return { type: "folder", path: folder };
  if (typeof file !== "string" || file === "" || typeof executable !== "boolean") return undefined;
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) return undefined;
  if (typeof sha256 !== "string" || !SHA256.test(sha256)) return undefined;
  const entry: TreeEntry = { type: "file", path: file, executable, size, sha256 };
  if (typeof mtimeMs === "number") entry.mtimeMs = mtimeMs;
  return entry;
}

/** The line of an entry, with its newline. Chunks and times are not part of it. */
export function lineOf(entry: TreeEntry): string {
  if (entry.type === "folder") return `${JSON.stringify({ folder: entry.path })}\n`;
  const { path, executable, size, sha256 } = entry;
  return `${JSON.stringify({ file: path, executable, size, sha256 })}\n`;
}
