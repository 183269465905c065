import type { Stats } from "node:fs";
import { lstat, readlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { statsOf } from "../support/files.ts";

/** Links on the way to a project root, as many as Linux follows. */
const MAX_LINKS = 40;
const STICKY = 0o1000;

/**
 * Looks at each folder and link on the way to a folder, and at itself, for somebody but root who could put something
 * else in the place of the next name: the owner of a folder or link, and every user who may write in a folder that is
 * not sticky. The user who has become root by sudo is root (`SUDO_UID`, as for git).
 *
 * @returns what is wrong with the first of them: a sentence without its end. Undefined when only root can
 */
export async function replaceableAt(path: string): Promise<string | undefined> {
  const names = namesOf(resolve(path));
  let at = "/";
  let links = 0;
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    const why = strangerIn(at, await lstat(at));
    if (why !== undefined) return why;
    if (name === "..") {
      at = dirname(at);
      continue;
    }
    const next = join(at, name);
    const stats = await statsOf(next);
    // Root makes the folders that do not exist yet.
    if (stats === undefined) return undefined;
    if (!stats.isSymbolicLink()) {
      at = next;
      continue;
    }
    if (!isTrusted(stats.uid)) return belongs(next, stats.uid);
    // A circle of links is left to the caller, who opens the path.
    if (++links > MAX_LINKS) return undefined;
    const text = await readlink(next);
    if (text.startsWith("/")) at = "/";
    names.unshift(...namesOf(text));
  }
  return strangerIn(at, await lstat(at));
}

const namesOf = (path: string): string[] => path.split("/").filter((name) => name !== "" && name !== ".");

const isTrusted = (uid: number): boolean => uid === 0 || String(uid) === process.env.SUDO_UID;

const belongs = (path: string, uid: number): string => `${path} belongs to the user ${uid}`;

function strangerIn(folder: string, { uid, gid, mode }: Stats): string | undefined {
  if (!isTrusted(uid)) return belongs(folder, uid);
  if ((mode & STICKY) !== 0) return undefined;
  if ((mode & 0o002) !== 0) return `${folder} can be written by any user`;
  if (gid !== 0 && (mode & 0o020) !== 0) return `${folder} can be written by the group ${gid}`;
  return undefined;
}
