import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { PluginLocation } from "./plugin-location.ts";

/**
 * The plugins on disk: every folder, or link to one, in the plugins folder (docs/contract/host.md). Names that start with `_` or `.`
 * are passed by, and so are links that lead nowhere: a release that is being removed.
 */
export async function discoverPlugins(directory: string): Promise<PluginLocation[]> {
  let entries: Dirent[];
  try {
    entries = await readdir(directory, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  const found: PluginLocation[] = [];
  for (const { name: id } of entries) {
    if (id.startsWith("_") || id.startsWith(".")) continue;
    const location = await locatePlugin(directory, id);
    if (location) found.push(location);
  }
  return found.sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Where a plugin stands now: the agent's switch changes the real path behind the same link. */
export async function locatePlugin(directory: string, id: string): Promise<PluginLocation | undefined> {
  const path = join(directory, id);
  try {
    const folder = await realpath(path);
    if (!(await stat(folder)).isDirectory()) return undefined;
    const store = join(dirname(await realpath(directory)), ".sealift", "data", "plugins", id);
    const hostData = await realpath(store).catch(() => undefined);
    return { id, path, folder, hostData };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
