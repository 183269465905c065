import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Ids of a user, with those of all groups. */
interface UserIds {
  uid: number;
  gids: ReadonlySet<number>;
}

/** Returns the ids of a user; undefined for one that this machine does not know. */
async function idsOf(user: string): Promise<UserIds | undefined> {
  const answers = ["-u", "-G"].map((flag) => run("id", [flag, "--", user], { timeout: 10_000 }));
  const [uid, gids] = await Promise.all(answers).catch(() => []);
  if (uid === undefined || gids === undefined) return undefined;
  return { uid: Number(uid.stdout), gids: new Set(gids.stdout.trim().split(/\s+/).map(Number)) };
}

/**
 * Returns the first folder on the way to a path that a user may not enter, from the top; undefined where there is none,
 * or where the user is not known. A folder that is not there yet will be made as the one above it is.
 */
export async function closedFolder(path: string, user: string): Promise<string | undefined> {
  const ids = await idsOf(user);
  if (ids === undefined || ids.uid === 0) return undefined;
  const folders: string[] = [];
  for (let folder = resolve(path); folders[0] !== folder; folder = dirname(folder)) folders.unshift(folder);
  for (const folder of folders) {
    const stats = await stat(folder).catch(() => undefined);
    if (stats === undefined) continue;
    const bit = stats.uid === ids.uid ? 0o100 : ids.gids.has(stats.gid) ? 0o010 : 0o001;
    if (stats.isDirectory() && (stats.mode & bit) === 0) return folder;
  }
  return undefined;
}
