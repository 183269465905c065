import { readdir, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ifThere, missing } from "../../support/files.ts";
import type { PluginLocation } from "../ground/instance.ts";

/**
 * The plugins on disk: every folder, or link to one, in the plugins folder (docs/contract/host.md). Names that start
 * with `_` or `.` are passed by, and so are links that lead nowhere: a release that is being removed.
 */
export async function discoverPlugins(directory: string): Promise<PluginLocation[]> {
  const entries = (await ifThere(readdir(directory, { withFileTypes: true }))) ?? [];
  const found: PluginLocation[] = [];
  for (const { name: id } of entries) {
    if (id.startsWith("_") || id.startsWith(".")) continue;
    const location = await locatePlugin(directory, id);
    if (location) found.push(location);
  }
  return found.sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Finds the folder in which a plugin stands now: the agent's switch changes the real path behind the same link. */
export async function locatePlugin(directory: string, id: string): Promise<PluginLocation | undefined> {
  const path = join(directory, id);
  try {
    const folder = await realpath(path);
    if (!(await stat(folder)).isDirectory()) return undefined;
    const store = join(dirname(await realpath(directory)), ".sealift", "data", "plugins", id);
    const hostData = await ifThere(realpath(store));
    return { id, path, folder, hostData };
  } catch (error) {
    if (missing(error)) return undefined;
    throw error;
  }
}
