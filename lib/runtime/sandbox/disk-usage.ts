import { lstatSync, opendirSync, readdirSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { missing } from "../../support/files.ts";

/**
 * The cost of an entry besides its content, in bytes: a file system's own record of it, as a plugin may make files
 * without end.
 */
const ENTRY_BYTES = 1024;
/** Entries after which the event loop turns. */
const BATCH = 200;

/**
 * Returns the bytes on disk below a folder; links count as themselves. Entries that vanish meanwhile count nothing.
 * @param stopAt the walk ends as soon as it has found more than this
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
        // Sparse files count what they hold.
        bytes += stats.blocks * 512 + ENTRY_BYTES;
        if (bytes > stopAt) return bytes;
      }
    } catch (error) {
      if (!missing(error)) throw error;
    }
  }
  return bytes;
}

/** A link's text is cheaper to read than its file's facts, and the kernel ends it with this word. */
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
    // The process is gone, or this system does not let anybody look.
  }
  return bytes;
}
