import { constants } from "node:fs";
import { type FileHandle, open, readdir, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { deploymentError } from "../contract/errors.ts";

/** Folder that is held open: its names are reached through it, wherever it is moved and whatever takes its place. */
export interface OpenFolder extends AsyncDisposable {
  /** Returns the path of a name in this very folder. */
  path(name: string): string;
}

/**
 * Opens a folder without following a link at its end. Where the system has no /proc, names are reached by the path
 * again.
 *
 * @throws `ENOTDIR` or `ELOOP` for a link or a file
 */
export async function openFolder(path: string): Promise<OpenFolder> {
  // An open folder is itself a link in /proc.
  const place = /^\/proc\/self\/fd\/\d+$/.test(path) ? `${path}/.` : path;
  const handle: FileHandle = await open(place, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  const base = process.platform === "linux" ? `/proc/self/fd/${handle.fd}` : path;
  return {
    path: (name) => join(base, name),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

/**
 * Works in a folder that another user may have planted, and closes it. Errors name the folder as `shown`: to a person
 * the number of a descriptor says nothing.
 *
 * @throws DeploymentError `root_unusable` for a link or a file, and what `work` throws
 */
export async function inFolder<T>(path: string, shown: string, work: (folder: OpenFolder) => Promise<T>): Promise<T> {
  await using folder = await openFolder(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOTDIR" && error.code !== "ELOOP") throw error;
    throw deploymentError("root_unusable", `${shown} is not a folder.`, { hint: "Remove what stands in its place." });
  });
  try {
    return await work(folder);
  } catch (error) {
    if (error instanceof Error) error.message = error.message.replaceAll(folder.path("/"), `${shown}/`);
    throw error;
  }
}

/** Returns a path through an open folder of this process in a form for its children. */
export const forChildren = (path: string): string => path.replace(/^\/proc\/self\//, `/proc/${process.pid}/`);

/**
 * Removes a path with everything below it. Goes from an open folder to a name in it and follows no link, even if a
 * plugin changes its data meanwhile.
 */
export async function removeTree(path: string): Promise<void> {
  const opened = await openFolder(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT" && error.code !== "ENOTDIR" && error.code !== "ELOOP") throw error;
    return undefined;
  });
  if (opened === undefined) return rm(path, { force: true });
  {
    await using folder = opened;
    for (const entry of await readdir(folder.path("."), { withFileTypes: true })) {
      if (entry.isDirectory()) await removeTree(folder.path(entry.name));
      else await rm(folder.path(entry.name), { force: true });
    }
  }
  await rmdir(path);
}
