import { closeSync, constants, fchownSync, fstatSync, lstatSync, opendirSync, openSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";

/** User and group that own a file. */
export interface Owner {
  uid: number;
  gid: number;
}

/** Entries handled before yielding to the event loop. */
const BATCH = 200;
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants;

/** Opens a path. @returns a file descriptor, or undefined for what is gone, or is a link or a socket */
function openWithoutFollowing(path: string, flags = 0): number | undefined {
  try {
    return openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | flags);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ELOOP" || code === "ENOENT" || code === "ENOTDIR" || code === "ENXIO") return undefined;
    throw error;
  }
}

/** Deepest folders whose owner is changed. */
const MAX_DEPTH = 128;

/**
 * Gives a folder and everything below it to a user. Other processes of that user may swap entries
 * meanwhile, so each entry is opened below its opened parent and without following links, and the owner is set on the
 * open file. A file with another name elsewhere stays unchanged. Where there is no `/proc`, nothing below the folder
 * changes.
 */
export async function giveFolder(folder: string, user: Owner): Promise<void> {
  let count = 0;
  const walk = async (fd: number, depth: number): Promise<void> => {
    give(fd, user);
    if (process.platform !== "linux" || depth > MAX_DEPTH) return;
    const here = `/proc/self/fd/${fd}`;
    using entries = opendirSync(here);
    for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
      if (++count % BATCH === 0) await nextTurn();
      const child = openOther(`${here}/${entry.name}`, user);
      if (child === undefined) continue;
      try {
        if (fstatSync(child).isDirectory()) await walk(child, depth + 1);
        else give(child, user);
      } finally {
        closeSync(child);
      }
    }
  };
  const root = openWithoutFollowing(folder, O_DIRECTORY);
  if (root === undefined) return;
  try {
    await walk(root, 0);
  } finally {
    closeSync(root);
  }
}

/** Opens a folder, or a file that is not the user's yet. */
function openOther(path: string, user: Owner): number | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory() === true) return openWithoutFollowing(path, O_DIRECTORY);
  if (stats?.isFile() !== true || (stats.uid === user.uid && stats.gid === user.gid)) return undefined;
  return openWithoutFollowing(path);
}

function give(fd: number, { uid, gid }: Owner): void {
  const stats = fstatSync(fd);
  if (stats.uid === uid && stats.gid === gid) return;
  if (!stats.isDirectory() && stats.nlink > 1) return;
  fchownSync(fd, uid, gid);
}
