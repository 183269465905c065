import { spawn } from "node:child_process";
import { open, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ifThere, makeFolder, syncFolder } from "../support/files.ts";
import type { Layout } from "./layout.ts";

/**
 * Waits until everything written below the project root is on the disk: the barrier before a switch. Uses one `syncfs`
 * of the file system, by `sync -f`, since Node has no call for it: 50 ms for 3,000 files, where an `fsync` of each
 * takes 1.2 s. Without that program, syncs `fallback` file by file.
 *
 * @param fallback folders that hold what was written
 */
export async function barrier({ root, durability }: Layout, fallback: readonly string[]): Promise<void> {
  if (durability !== "full" || (await syncFileSystem(root))) return;
  for (const folder of fallback) await syncTree(folder);
}

function syncFileSystem(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const child = spawn("sync", ["-f", "--", path], { stdio: "ignore", env: { PATH: process.env.PATH } });
  child.once("error", () => resolve(false));
  child.once("close", (code) => resolve(code === 0));
  return promise;
}

/** Syncs every file and folder below a folder, and the folder itself. Links are names, synced with their folder. */
async function syncTree(folder: string): Promise<void> {
  const entries = (await ifThere(readdir(folder, { withFileTypes: true }))) ?? [];
  for (const entry of entries) {
    if (entry.isDirectory()) await syncTree(join(folder, entry.name));
    else if (entry.isFile()) await syncFile(join(folder, entry.name));
  }
  await syncFolder(folder);
}

async function syncFile(path: string): Promise<void> {
  await using file = await open(path, "r");
  await file.sync();
}

/** Makes the bytes of a file durable, before it gets the name by which it is found. */
export async function syncBytes({ durability }: Layout, path: string): Promise<void> {
  if (durability === "full") await syncFile(path);
}

/** Makes the names in a folder durable: a link, a rename or a removal counts only then. */
export async function syncNames({ durability }: Layout, folder: string): Promise<void> {
  if (durability === "none") return;
  // A folder that was never made has no names.
  await ifThere(syncFolder(folder));
}

/**
 * Makes a folder and missing ones above it, all with durable names, so that files moved there cannot be lost with their
 * folder.
 */
export async function makeDurableFolder(layout: Layout, path: string): Promise<void> {
  const topmost = await makeFolder(path);
  if (topmost === undefined) return;
  for (let folder = path; ; folder = dirname(folder)) {
    await syncNames(layout, dirname(folder));
    if (folder === topmost || dirname(folder) === folder) return;
  }
}
