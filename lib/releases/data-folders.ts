import { randomBytes } from "node:crypto";
import { link, mkdir, open, readdir, rename, rm, rmdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { deploymentError, type SealiftError } from "../contract/errors.ts";
import type { TargetName } from "../contract/target.ts";
import { ifThere, makeFolder, statsOf } from "../support/files.ts";
import { makeDurableFolder, syncNames } from "./durability.ts";
import { exchangePaths } from "./exchange.ts";
import { dataFolderOf, type Item, type Layout } from "./layout.ts";
import { type OpenFolder, openFolder } from "./open-folder.ts";

/**
 * Puts a link to the host's data where a finished tree has, or could have, the item's data folder. Data shipped with
 * the release is set aside inside the release. Does not touch the host's data.
 *
 * @throws DeploymentError `data_conflict` when the release ships a file of that name
 */
export async function reserveData(layout: Layout, target: TargetName, release: string, item: Item): Promise<void> {
  const name = dataFolderOf(item);
  if (name === undefined) return;
  const own = join(layout.release(target, release), item.section, item.id);
  const data = join(own, name);
  const shipsFile = (path: string) =>
    deploymentError("data_conflict", `${item.id} ships a file named ${path}, where its data folder belongs.`, {
      hint: "Ask the publisher to rename it.",
    });
  await makeFolder(dirname(data)).catch((error: NodeJS.ErrnoException) => {
    throw error.code === "ENOTDIR" || error.code === "EEXIST" ? shipsFile(dirname(name)) : error;
  });
  const stats = await statsOf(data);
  if (stats?.isSymbolicLink()) return;
  if (stats?.isDirectory()) {
    const apart = layout.shippedData(target, release, item);
    await makeFolder(dirname(apart));
    await rename(data, apart);
  } else if (stats !== undefined) throw shipsFile(name);
  await symlink(layout.dataText(item), data);
}

/** Creates the host's data folder of an item that has one. */
export async function makeData(layout: Layout, item: Item): Promise<void> {
  if (dataFolderOf(item) !== undefined) await makeDurableFolder(layout, layout.data(item));
}

/**
 * Creates the host's data folder of an item, to which its release links. Copies files that the release ships under
 * `data/` if missing, never over existing ones, each atomically. Runs inside the switch only, after the adoption of
 * real folders.
 *
 * @returns the paths below `data/` that could not be made, because the plugin has a file where the release ships a
 *   folder
 * @throws DeploymentError `root_unusable` for a folder that this user may not write
 */
export async function giveData(layout: Layout, target: TargetName, release: string, item: Item): Promise<string[]> {
  if (dataFolderOf(item) === undefined) return [];
  const data = layout.data(item);
  await makeData(layout, item);
  const blocked: string[] = [];
  try {
    await using folder = await openFolder(data);
    await seed(layout, layout.shippedData(target, release, item), folder, "", blocked);
    return blocked;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code === "EACCES" || code === "EPERM" ? await notOurs(data, error) : error;
  }
}

/** Returns the error for a data folder in which this user may not put the files of a release. */
async function notOurs(data: string, cause: unknown): Promise<SealiftError> {
  const owner = (await statsOf(data))?.uid;
  const message = `${data}, or a folder in it, belongs to the user ${owner}, and a file of the release is missing there.`;
  return deploymentError("root_unusable", message, {
    cause,
    hint: `Let the user ${process.getuid?.()}, who deploys, write there (by a group or an ACL), or deploy as root.`,
  });
}

/**
 * Copies missing files, durably, into a folder that the plugin's user may change at any time. Every step goes from an
 * open folder to a name in it and follows no link, so that planted links lead nowhere.
 */
async function seed(layout: Layout, from: string, to: OpenFolder, shown: string, blocked: string[]): Promise<void> {
  const entries = (await ifThere(readdir(from, { withFileTypes: true }))) ?? [];
  for (const entry of entries) {
    const source = join(from, entry.name);
    const destination = to.path(entry.name);
    if (entry.isDirectory()) {
      await mkdir(destination).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "EEXIST") throw error;
      });
      const folder = await openFolder(destination).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOTDIR" && error.code !== "ELOOP") throw error;
        blocked.push(`${shown}${entry.name}`);
        return undefined;
      });
      await using below = folder;
      if (below !== undefined) await seed(layout, source, below, `${shown}${entry.name}/`, blocked);
    } else if ((await statsOf(destination)) === undefined) {
      const temporary = to.path(`.seed-${randomBytes(6).toString("hex")}`);
      try {
        // A name without its bytes would be taken for the plugin's own file for good.
        await copyNew(source, temporary, layout.durability === "full");
        // Unlike a rename, a hard link fails if the plugin has made the file meanwhile.
        await link(temporary, destination).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== "EEXIST") throw error;
        });
      } finally {
        await rm(temporary, { force: true });
      }
    }
  }
  if (entries.length > 0) await syncNames(layout, to.path("."));
}

/** Copies a file under a new name, with its mode. @param durable whether its bytes are on the disk when this returns */
async function copyNew(source: string, path: string, durable: boolean): Promise<void> {
  await using from = await open(source, "r");
  const { mode } = await from.stat();
  await using to = await open(path, "wx", mode);
  await to.chmod(mode & 0o7777);
  await to.writeFile(from.createReadStream({ autoClose: false }));
  if (durable) await to.sync();
}

/**
 * Rejects the adoption of a folder whose data would have to be merged with existing data.
 *
 * @throws DeploymentError `data_conflict`
 */
export async function checkAdoptable(layout: Layout, item: Item, folder: string): Promise<void> {
  const name = dataFolderOf(item);
  if (name === undefined) return;
  const data = layout.data(item);
  const own = join(folder, name);
  if ((await statsOf(own))?.isDirectory() !== true || !(await isFilled(data))) return;
  throw deploymentError("data_conflict", `Both ${own} and ${data} hold data of ${item.id}.`, {
    hint: "Move the files that you need into the second one, remove the first one and deploy again.",
  });
}

async function isFilled(folder: string): Promise<boolean> {
  // A link was prepared by a killed adoption.
  if ((await statsOf(folder))?.isDirectory() !== true) return false;
  return (await readdir(folder)).length > 0;
}

/**
 * Moves the data of an adopted folder to the host's data and leaves a link, in one step; does nothing if that was
 * already done.
 *
 * @throws DeploymentError `data_conflict`
 */
export async function adoptData(layout: Layout, item: Item, folder: string): Promise<void> {
  const names = dataFolderOf(item)?.split("/");
  if (names === undefined) return;
  await using opened = new AsyncDisposableStack();
  // The folder's owner may have put a link in its place.
  let within = opened.use(await openFolder(folder));
  for (const name of names.slice(0, -1)) {
    await makeFolder(within.path(name));
    within = opened.use(await openFolder(within.path(name)));
  }
  const own = within.path(names.at(-1)!);
  const stats = await statsOf(own);
  if (stats?.isSymbolicLink()) return;
  const data = layout.data(item);
  if (stats?.isDirectory()) {
    await checkAdoptable(layout, item, folder);
    await makeDurableFolder(layout, dirname(data));
    const existing = await statsOf(data);
    if (existing?.isDirectory()) await rmdir(data);
    if (existing?.isSymbolicLink() !== true) await symlink(layout.dataText(item), data);
    await syncNames(layout, dirname(data));
    await exchangePaths(layout, own, data);
  } else {
    await makeDurableFolder(layout, data);
    if (stats === undefined) await symlink(layout.dataText(item), own);
  }
  await syncNames(layout, dirname(data));
  await syncNames(layout, within.path("."));
}
