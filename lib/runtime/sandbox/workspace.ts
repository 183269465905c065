import { realpath } from "node:fs/promises";
import { join } from "node:path";
import type { Descriptor } from "../../contract/files/descriptor.ts";
import { isInside, makeFolder } from "../../support/files.ts";
import { IS_ONE_FILE } from "../../support/one-file.ts";
import { giveFolder } from "../../support/owned-folder.ts";
import type { PluginLocation } from "../base/instance.ts";
import { type SandboxUser } from "../base/user.ts";
import { RuntimeFault } from "../guest/fault.ts";
import { checkDiskLimit } from "./disk-limit.ts";
import { checkFolder, checkReachable } from "./folder-scan.ts";
import { BOOTSTRAP, SHARED_READS } from "./guest-files.ts";

/** Folders of one sandboxed plugin, checked and prepared: what it reads, what it writes. */
export interface Workspace {
  reads: string[];
  writes: string[];
  /** Real path of `data/`. */
  dataDir: string;
}

/**
 * Returns a writable folder. `data/` may be a link into the host's own store (docs/contract/host.md), where it survives
 * upgrades; a link anywhere else is rejected.
 * @returns the real path of the folder, made if it was missing
 */
async function writableFolder(location: PluginLocation, relative: string): Promise<string> {
  const path = join(location.folder, relative);
  await makeFolder(path).catch((error: NodeJS.ErrnoException) => {
    // A release on a read-only disk: existing folders can still be used.
    if (error.code !== "EROFS" && error.code !== "EEXIST") throw error;
  });
  const real = await realpath(path);
  const isData = relative.replace(/\/+$/, "") === "data";
  if (!isInside(real, location.folder) && !(isData && real === location.hostData)) {
    throw new RuntimeFault("link_outside", `${path} leads to ${real}, outside of the plugin's folder.`);
  }
  return real;
}

/** Prepares the folders. @throws RuntimeFault `link_outside`, `sandbox_unavailable` or `disk_exceeded` */
export async function prepareWorkspace(
  location: PluginLocation,
  { filesystem, resources }: Descriptor,
  user: SandboxUser | undefined,
): Promise<Workspace> {
  const writes: string[] = [];
  for (const path of filesystem.allowed_paths) writes.push(await writableFolder(location, path));
  const dataDir = await writableFolder(location, "data");
  await checkFolder(location.folder, { user, skip: new Set([...writes, join(location.folder, "data")]) });
  // First, since it limits how many entries the walks below meet.
  await checkDiskLimit(writes, resources.max_disk_mb);
  for (const path of writes) {
    await checkFolder(path);
    if (user) await giveFolder(path, user);
  }
  if (user) {
    const all = [location.folder, ...writes, ...SHARED_READS, ...(IS_ONE_FILE ? [] : [BOOTSTRAP]), process.execPath];
    await checkReachable(all, user);
  }
  return { reads: [location.folder], writes, dataDir };
}
