import type { Stats } from "node:fs";
import { lstat, opendir, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isInside } from "../../support/files.ts";
import type { SandboxUser } from "../base/user.ts";
import { RuntimeFault } from "../guest/fault.ts";

/**
 * Checks a folder before a sandbox may read it. Node's permission model follows links: one that leads out of a granted
 * folder opens its target.
 */

const READ = 4;
const EXECUTE = 1;

function permits({ mode, uid, gid }: Stats, user: SandboxUser, bits: number): boolean {
  const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0;
  return ((mode >> shift) & bits) === bits;
}

const unreadable = (path: string, user: SandboxUser): RuntimeFault =>
  new RuntimeFault(
    "sandbox_unavailable",
    `The sandbox's user ${user.uid} may not read ${path}: allow it, or set plugins.sandbox.uid.`,
  );

/**
 * Requires that every folder above some paths lets the user through.
 * @throws RuntimeFault `sandbox_unavailable`
 */
export async function checkReachable(paths: readonly string[], user: SandboxUser): Promise<void> {
  const above = new Set<string>();
  for (const path of paths)
    for (let folder = dirname(path); !above.has(folder); folder = dirname(folder)) above.add(folder);
  for (const folder of above) if (!permits(await stat(folder), user, EXECUTE)) throw unreadable(folder, user);
}

async function checkLink(path: string, folder: string): Promise<void> {
  const target = await realpath(path).catch(() => undefined);
  if (target === undefined || !isInside(target, folder)) {
    throw new RuntimeFault("link_outside", `The link ${path} leads out of the plugin's folder.`);
  }
}

/**
 * Checks that no link below `folder` (a real path) leads out of it and, given a user, that the user can read all of it.
 * @param skip real paths that are checked separately, or not at all
 * @throws RuntimeFault `link_outside` or `sandbox_unavailable`
 */
export async function checkFolder(
  folder: string,
  { user, skip = new Set() }: { user?: SandboxUser | undefined; skip?: ReadonlySet<string> } = {},
): Promise<void> {
  const folders = [folder];
  for (let current = folders.pop(); current !== undefined; current = folders.pop()) {
    if (user && !permits(await lstat(current), user, READ | EXECUTE)) throw unreadable(current, user);
    for await (const entry of await opendir(current)) {
      const path = join(current, entry.name);
      if (skip.has(path)) continue;
      if (entry.isSymbolicLink()) await checkLink(path, folder);
      else if (entry.isDirectory()) folders.push(path);
      else if (user && entry.isFile() && !permits(await lstat(path), user, READ)) throw unreadable(path, user);
    }
  }
}
