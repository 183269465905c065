import { randomBytes } from "node:crypto";
import { copyFile, link, lstat, mkdir, readdir, rename, rm, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { deploymentError } from "../contract/errors.ts";
import type { Item, Layout } from "./layout.ts";

const exists = async (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/**
 * Gives an item of a finished tree its data: the folder of the host, which every release links to. Files that the release ships under
 * `data/` are copied there when missing, never over existing ones, each at once or not at all.
 *
 * @param folder the item's folder in the release
 */
export async function linkData(layout: Layout, item: Item, folder: string): Promise<void> {
  const data = layout.data(item);
  const shipped = join(folder, "data");
  await mkdir(data, { recursive: true });
  const stats = await lstat(shipped).catch(() => undefined);
  if (stats?.isSymbolicLink()) return;
  if (stats?.isDirectory()) await seed(shipped, data);
  else if (stats !== undefined) {
    throw deploymentError("data_conflict", `${item.id} ships a file named data, where its data folder belongs.`, {
      hint: "Ask the publisher to rename it.",
    });
  }
  await rm(shipped, { recursive: true, force: true });
  await symlink(layout.dataText(item), shipped);
}

async function seed(from: string, to: string): Promise<void> {
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    const destination = join(to, entry.name);
    if (entry.isDirectory()) {
      await mkdir(destination, { recursive: true });
      await seed(source, destination);
    } else if (!(await exists(destination))) {
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
  const filled = (path: string): Promise<boolean> =>
    readdir(path).then(
      (names) => names.length > 0,
      () => false,
    );
  if ((await lstat(own).catch(() => undefined))?.isDirectory() !== true || !(await filled(data))) return;
  throw deploymentError("data_conflict", `Both ${own} and ${data} hold data of ${item.id}.`, {
    hint: "Move the files that you need into the second one, remove the first one and deploy again.",
  });
}

/** Moves the `data/` of a real folder that is being adopted to its place; does nothing when that has been done. */
export async function adoptData(layout: Layout, item: Item, folder: string): Promise<void> {
  await checkAdoptable(layout, item, folder);
  const data = layout.data(item);
  const own = join(folder, "data");
  if ((await lstat(own).catch(() => undefined))?.isDirectory() !== true) return;
  await mkdir(dirname(data), { recursive: true });
  await rm(data, { recursive: true, force: true });
  await rename(own, data);
}
