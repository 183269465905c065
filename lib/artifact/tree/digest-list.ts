import { closeSync, openSync, writeSync } from "node:fs";
import { open } from "node:fs/promises";

/** Characters that are written with one call. */
const PIECE = 256 * 1024;

/**
 * Writes the digests of a tree's files into a new file, a line each: 64 hexadecimal digits, a space, the path as JSON.
 */
export function writeDigestList(path: string, entries: Iterable<[path: string, sha256: string]>): void {
  const descriptor = openSync(path, "wx", 0o600);
  try {
    let text = "";
    for (const [file, sha256] of entries) {
      text += `${sha256} ${JSON.stringify(file)}\n`;
      if (text.length < PIECE) continue;
      writeSync(descriptor, text);
      text = "";
    }
    writeSync(descriptor, text);
  } finally {
    closeSync(descriptor);
  }
}

/** Reads what {@link writeDigestList} wrote in this deployment: path → lower-case hex. */
export async function readDigestList(path: string): Promise<Map<string, string>> {
  const digests = new Map<string, string>();
  await using file = await open(path, "r");
  for await (const line of file.readLines()) digests.set(JSON.parse(line.slice(65)) as string, line.slice(0, 64));
  return digests;
}
