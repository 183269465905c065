import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";

/** A folder that is held open: its names are reached through it, wherever it is moved and whatever takes its place. */
export interface OpenFolder extends AsyncDisposable {
  /** The path of a name in this very folder. */
  path(name: string): string;
}

/**
 * Opens a folder without following a link at its end. Where the system has no /proc, names are reached by the path
 * again.
 *
 * @throws `ENOTDIR` or `ELOOP` when a link or a file stands there
 */
export async function openFolder(path: string): Promise<OpenFolder> {
  const handle: FileHandle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  const base = process.platform === "linux" ? `/proc/self/fd/${handle.fd}` : path;
  return {
    path: (name) => join(base, name),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}
