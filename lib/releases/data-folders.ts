import { randomBytes } from "node:crypto";
import { copyFile, link, readdir, rename, rm, rmdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { deploymentError } from "../contract/errors.ts";
import { makeFolder, missing, statsOf } from "../support/files.ts";
import { makeDurableFolder, syncNames } from "./durability.ts";
import { exchange } from "./exchange.ts";
import type { Item, Layout, Target } from "./layout.ts";

/**
 * Puts the link to the host's data where a finished tree has, or would have, a folder `data`. What the release ships there is set apart
 * inside the release. Nothing of the host is touched.
 *
 * @throws DeploymentError `data_conflict` when the release ships a file of that name
 */
export async function reserveData(layout: Layout, target: Target, release: string, item: Item): Promise<void> {
  const data = join(layout.release(target, release), item.section, item.id, "data");
  const stats = await statsOf(data);
  if (stats?.isSymbolicLink()) return;
  if (stats?.isDirectory()) {
    const apart = layout.shippedData(target, release, item);
    await makeFolder(dirname(apart));
    await rename(data, apart);
  } else if (stats !== undefined) {
    throw deploymentError("data_conflict", `${item.id} ships a file named data, where its data folder belongs.`, {
      hint: "Ask the publisher to rename it.",
    });
  }
  await symlink(layout.dataText(item), data);
}

/**
 * Gives an item the data folder of the host, which its release links to. Files that the release ships under `data/` are copied there when
 * missing, never over existing ones, each at once or not at all. Happens inside the switch only, after the adoption of real folders.
 *
 * @returns the paths below `data/` that could not be made, because the plugin has a file where the release ships a folder
 */
export async function giveData(layout: Layout, target: Target, release: string, item: Item): Promise<string[]> {
  const data = layout.data(item);
  await makeFolder(data);
  const blocked: string[] = [];
  await seed(layout.shippedData(target, release, item), data, "", blocked);
  return blocked;
}

async function seed(from: string, to: string, shown: string, blocked: string[]): Promise<void> {
  const entries = await readdir(from, { withFileTypes: true }).catch((error: unknown) => {
    if (missing(error)) return [];
    throw error;
  });
  for (const entry of entries) {
    const source = join(from, entry.name);
    const destination = join(to, entry.name);
    const stats = await statsOf(destination);
    if (entry.isDirectory()) {
      if (stats !== undefined && !stats.isDirectory()) {
        blocked.push(`${shown}${entry.name}`);
        continue;
      }
      await makeFolder(destination);
      await seed(source, destination, `${shown}${entry.name}/`, blocked);
    } else if (stats === undefined) {
      const temporary = join(to, `.seed-${randomBytes(6).toString("hex")}`);
      try {
        await copyFile(source, temporary);
        // A hard link refuses to replace a file that the plugin has made meanwhile; a rename would not.
        await link(temporary, destination);
      } finally {
        await rm(temporary, { force: true });
      }
    }
  }
}

/**
 * Refuses the adoption of a folder whose data would have to be mixed with data that is there already.
 *
 * @throws DeploymentError `data_conflict`
 */
export async function checkAdoptable(layout: Layout, item: Item, folder: string): Promise<void> {
  const data = layout.data(item);
  const own = join(folder, "data");
  if ((await statsOf(own))?.isDirectory() !== true || !(await isFilled(data))) return;
  throw deploymentError("data_conflict", `Both ${own} and ${data} hold data of ${item.id}.`, {
    hint: "Move the files that you need into the second one, remove the first one and deploy again.",
  });
}

async function isFilled(folder: string): Promise<boolean> {
  // A link is what a killed adoption has prepared.
  if ((await statsOf(folder))?.isDirectory() !== true) return false;
  return (await readdir(folder)).length > 0;
}

/**
 * Moves the `data/` of an adopted folder to the host's data, and leaves a link, in one step; does nothing when that has been done.
 *
 * @throws DeploymentError `data_conflict`
 */
export async function adoptData(layout: Layout, item: Item, folder: string): Promise<void> {
  const own = join(folder, "data");
  const stats = await statsOf(own);
  if (stats?.isSymbolicLink()) return;
  const data = layout.data(item);
  if (stats?.isDirectory()) {
    await checkAdoptable(layout, item, folder);
    await makeDurableFolder(layout, dirname(data));
    const standing = await statsOf(data);
    if (standing?.isDirectory()) await rmdir(data);
    if (standing?.isSymbolicLink() !== true) await symlink(layout.dataText(item), data);
    await syncNames(layout, dirname(data));
    await exchange(own, data);
  } else {
    await makeDurableFolder(layout, data);
    if (stats === undefined) await symlink(layout.dataText(item), own);
  }
  await syncNames(layout, dirname(data));
  await syncNames(layout, folder);
}
