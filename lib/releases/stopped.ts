import { chown, realpath, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isJob } from "../contract/files/application-kinds.ts";
import { STOPPED_FOLDER } from "../contract/files/application-names.ts";
import { makeFolder, namesIn, statsOf } from "../support/files.ts";
import { readGrants, readInstalled } from "./applications.ts";
import { syncNames } from "./durability.ts";
import { isApplication, type Item, type Layout } from "./layout.ts";
import { unitKey } from "./names.ts";
import { inFolder, type OpenFolder } from "./open-folder.ts";
import { isForeignRoot } from "./project-root.ts";

/**
 * An operator stops an application by an empty file `.sealift/state/stopped/<id>`: nothing starts it while that is
 * there (docs/contract/application.md#stopped).
 */
const [, STATE, STOPPED] = STOPPED_FOLDER.split("/") as [string, string, string];

const folderOf = ({ sealift }: Layout): string => join(sealift, STATE, STOPPED);

/** Path of the file that keeps an application stopped, below the folder of a project root's state. */
export const stoppedPath = (sealift: string, id: string): string => join(sealift, STATE, STOPPED, id);

/** Returns since when an operator has an application stopped, ISO 8601; undefined for one that may run. */
export const stoppedSince = async ({ sealift }: Layout, id: string): Promise<string | undefined> =>
  (await statsOf(stoppedPath(sealift, id)))?.mtime.toISOString();

/**
 * Returns since when an application rests, ISO 8601: it is stopped, or is of one that is, without which it does not
 * run; undefined for one that is to run, and for a job that is not stopped itself.
 */
export async function restsSince(layout: Layout, id: string): Promise<string | undefined> {
  const own = await stoppedSince(layout, id);
  if (own !== undefined || (await namesIn(folderOf(layout))).length === 0) return own;
  const base = (await readGrants(layout).catch(() => undefined))?.applications[id]?.of;
  const since = base && (await stoppedSince(layout, base));
  if (since === undefined) return undefined;
  const installed = await readInstalled(layout, id).catch(() => undefined);
  return installed !== undefined && isJob(installed.app) ? undefined : since;
}

/** Returns the units of those of some items that rest ({@link restsSince}), sorted: `apps/web`. */
export async function restingUnits(layout: Layout, items: readonly Item[]): Promise<string[]> {
  const resting: string[] = [];
  for (const item of items.filter(isApplication))
    if ((await restsSince(layout, item.id)) !== undefined) resting.push(unitKey(item));
  return resting.toSorted();
}

/**
 * Notes that an application is to be stopped, or may run again; also after a power cut. Root may do so in another
 * user's folder: links there are not followed, and new files are that user's.
 *
 * @returns whether that has changed anything
 * @throws DeploymentError `root_unusable` where something else stands in the place
 */
export async function noteStopped(layout: Layout, id: string, stopped: boolean): Promise<boolean> {
  await makeFolder(layout.sealift);
  const isForeign = await isForeignRoot(layout, { allowForeignRoot: true });
  const root = isForeign ? layout.sealift : await realpath(layout.sealift);
  return inFolder(root, layout.sealift, (sealift) =>
    within(sealift, STATE, layout.sealift, (state) =>
      within(state, STOPPED, join(layout.sealift, STATE), async (folder) => {
        const file = folder.path(id);
        if (((await statsOf(file)) !== undefined) === stopped) return false;
        if (stopped) {
          await writeFile(file, "", { flag: "wx", mode: 0o644 });
          await giveTo(file, folder);
        } else await rm(file);
        await syncNames(layout, folder.path("."));
        return true;
      }),
    ),
  );
}

/** Works in a folder of an open one that is shown as `around`, and makes it if it is missing. */
async function within<T>(
  parent: OpenFolder,
  name: string,
  around: string,
  work: (folder: OpenFolder) => Promise<T>,
): Promise<T> {
  const made = await makeFolder(parent.path(name));
  if (made !== undefined) await giveTo(parent.path(name), parent);
  return inFolder(parent.path(name), join(around, name), work);
}

/** Gives what root has made to the owner of the folder around it, who deploys there. */
async function giveTo(path: string, around: OpenFolder): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(around.path("."));
  await chown(path, uid, gid);
}
