import { createWriteStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { pipeline } from "node:stream/promises";
import yazl from "yazl";

/** Makes a ZIP of a folder under one top folder, as source hosts do. */
export async function zipFolder(folder: string, top: string, file: string): Promise<void> {
  const zip = new yazl.ZipFile();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) zip.addFile(path, `${top}/${relative(folder, path)}`);
  }
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(file));
}
