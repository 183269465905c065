import { artifactError } from "../../contract/errors.ts";
import { FileTable } from "./file-table.ts";
import { readLines } from "./read-lines.ts";
import type { TreeEntry } from "./tree-listing.ts";
import type { TreeListing } from "./tree-listing.ts";

const MAX_LINE_BYTES = 64 * 1024;
const SHA256 = /^[0-9a-f]{64}$/;

/**
 * Reads the list of a tree that an older version of Sealift has left in a release.
 *
 * @throws ArtifactError `delta_base_changed` for a list that is not what we wrote
 */
export async function readTreeList(file: string): Promise<TreeListing> {
  const files = FileTable.empty();
  const emptyFolders: string[] = [];
  for await (const text of readLines(file, MAX_LINE_BYTES)) {
    const entry = listedEntry(parseJson(text));
    if (entry === undefined)
      throw artifactError("delta_base_changed", `The list of the running release, ${file}, has been changed.`);
    if (entry.type === "file") files.add(entry);
    else emptyFolders.push(entry.path);
  }
  return { files, emptyFolders };
}

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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The line of an entry, with its newline. Chunks and times are not part of it. */
export function lineOf(entry: TreeEntry): string {
  if (entry.type === "folder") return `${JSON.stringify({ folder: entry.path })}\n`;
  const { path, executable, size, sha256 } = entry;
  return `${JSON.stringify({ file: path, executable, size, sha256 })}\n`;
}
