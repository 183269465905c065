import { lstatSync, opendirSync, readdirSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { missing } from "../../support/files.ts";

/**
 * Bytes counted per entry in addition to its content: a file system's own record of it, since a plugin may make endless
 * files.
 */
const ENTRY_BYTES = 1024;
/** Entries handled before yielding to the event loop. */
const BATCH = 200;

/**
 * Returns the bytes on disk below a folder; links count as themselves. Ignores entries that vanish meanwhile.
 * @param stopAt bytes beyond which the walk ends
 */
export async function diskUsage(folder: string, stopAt: number): Promise<number> {
  let bytes = 0;
  let count = 0;
  const folders = [folder];
  for (let current = folders.pop(); current !== undefined; current = folders.pop()) {
    try {
      using entries = opendirSync(current);
      for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
        if (++count % BATCH === 0) await nextTurn();
        const path = join(current, entry.name);
        if (entry.isDirectory()) folders.push(path);
        const stats = lstatSync(path, { throwIfNoEntry: false });
        if (stats === undefined) continue;
        // Sparse files count by their allocated blocks.
        bytes += stats.blocks * 512 + ENTRY_BYTES;
        if (bytes > stopAt) return bytes;
      }
    } catch (error) {
      if (!missing(error)) throw error;
    }
  }
  return bytes;
}

/**
 * Tells whether an open file has no name: reading the link's text is cheaper than stat, and the kernel appends this
 * word.
 */
function hasNoName(fd: string): boolean {
  try {
    return readlinkSync(fd).endsWith(" (deleted)");
  } catch {
    return false; // It was closed meanwhile.
  }
}

/**
 * Returns the bytes of files that a process holds open although they have no name any more. 0 where there is no
 * `/proc`.
 */
export function unlinkedUsage(pid: number): number {
  let bytes = 0;
  try {
    for (const fd of readdirSync(`/proc/${pid}/fd`)) {
      const file = `/proc/${pid}/fd/${fd}`;
      if (!hasNoName(file)) continue;
      const stats = statSync(file, { throwIfNoEntry: false });
      if (stats?.isFile() === true && stats.nlink === 0) bytes += stats.blocks * 512;
    }
  } catch {
    // The process is gone, or this system forbids reading it.
  }
  return bytes;
}
