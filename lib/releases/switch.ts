import { randomBytes } from "node:crypto";
import { chmod, link, lstat, mkdir, readlink, rename, rm, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { deploymentError, type SealiftError } from "../contract/errors.ts";
import { syncFolder } from "../support/files.ts";
import { adoptData, checkAdoptable, linkData } from "./data-folders.ts";
import { clearJournal, type Journal, writeJournal } from "./journal.ts";
import { type Item, type Layout, sameItem, type Target } from "./layout.ts";
import { currentName, newReleaseName, readRelease, writeRelease } from "./release.ts";

/** Puts a link in place at once, over an older link. */
async function replaceLink(path: string, text: string): Promise<void> {
  const temporary = join(dirname(path), `.link-${randomBytes(6).toString("hex")}`);
  await mkdir(dirname(path), { recursive: true });
  await symlink(text, temporary);
  try {
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
}

/** What stands at `<section>/<id>`. */
async function standing(
  layout: Layout,
  target: Target,
  item: Item,
): Promise<"nothing" | "ours" | "folder" | SealiftError> {
  const path = layout.link(item);
  const stats = await lstat(path).catch(() => undefined);
  if (stats === undefined) return "nothing";
  if (stats.isDirectory()) return "folder";
  const taken = (why: string) =>
    deploymentError("id_taken", `${path} ${why}.`, {
      hint: "Remove it, deploy to another --project-root, or install under another id.",
    });
  if (!stats.isSymbolicLink()) return taken("is a file");
  const text = await readlink(path);
  if (text === layout.linkText(target, item)) return "ours";
  const other = /^\.\.\/\.sealift\/current\/([^/]+)\//.exec(text)?.[1];
  return taken(other === undefined ? "is a link that Sealift did not make" : `belongs to the target ${other}`);
}

/**
 * Finds out what a switch to `items` will have to do, and refuses what it cannot: an id of another target, a foreign link.
 *
 * @returns the real folders to adopt
 * @throws DeploymentError `id_taken`, `data_conflict`
 */
export async function planSwitch(layout: Layout, target: Target, items: readonly Item[]): Promise<Item[]> {
  const adopted: Item[] = [];
  for (const item of items) {
    const found = await standing(layout, target, item);
    if (found === "folder") {
      await checkAdoptable(layout, item, layout.link(item));
      adopted.push(item);
    } else if (typeof found !== "string") throw found;
  }
  return adopted;
}

/**
 * The switch (docs/contract/host.md): the journal first, then the adoption of real folders, data, environment files and links of new ids, and
 * at last the one rename. Everything before that rename changes nothing that runs.
 *
 * @param entry the journal's entry in phase `staging`; it is updated and written
 * @param envFiles id → prepared file, put in place where the host has none
 */
export async function switchRelease(
  layout: Layout,
  entry: Journal,
  envFiles: ReadonlyMap<string, string>,
): Promise<void> {
  const { target } = entry;
  const previous = await currentName(layout, target);
  entry.adopted = await planSwitch(layout, target, entry.items);
  entry.previous = previous ?? (entry.adopted.length > 0 ? newReleaseName("adopted") : null);
  entry.previous_items =
    previous === undefined ? [...entry.adopted] : ((await readRelease(layout, target, previous))?.items ?? []);
  for (const item of entry.adopted) {
    if (!entry.previous_items.some((other) => sameItem(other, item))) entry.previous_items.push(item);
  }
  entry.phase = "switching";
  await writeJournal(layout, entry);

  await adopt(layout, entry);
  for (const item of entry.items)
    await linkData(layout, item, join(layout.release(target, entry.release), item.section, item.id));
  for (const [id, prepared] of envFiles) await placeEnvFile(layout, entry, id, prepared);
  for (const item of entry.items) {
    if ((await standing(layout, target, item)) === "nothing")
      await replaceLink(layout.link(item), layout.linkText(target, item));
  }
  await replaceLink(layout.current(target), layout.currentText(target, entry.release));
}

async function placeEnvFile(layout: Layout, entry: Journal, id: string, prepared: string): Promise<void> {
  const path = layout.envFile(id);
  if ((await lstat(path).catch(() => undefined)) !== undefined) return;
  entry.env_files.push(id);
  await writeJournal(layout, entry);
  await mkdir(dirname(path), { recursive: true });
  await chmod(prepared, 0o600);
  await link(prepared, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
}

/** Makes the real folders of an entry part of its previous release. Each step may have been done already by a run that was killed. */
async function adopt(layout: Layout, entry: Journal): Promise<void> {
  const { target, previous, adopted } = entry;
  if (previous === null || adopted.length === 0) return;
  const release = layout.release(target, previous);
  for (const item of adopted) {
    const folder = layout.link(item);
    const place = join(release, item.section, item.id);
    await mkdir(dirname(place), { recursive: true });
    if ((await lstat(folder).catch(() => undefined))?.isDirectory()) {
      await adoptData(layout, item, folder);
      await rename(folder, place);
    }
    await linkData(layout, item, place);
  }
  const record = await readRelease(layout, target, previous);
  await writeRelease(layout, target, previous, {
    version: record?.version ?? "adopted",
    identity: record?.identity ?? null,
    content_sha256: record?.content_sha256 ?? null,
    created_at: record?.created_at ?? entry.started_at,
    items: entry.previous_items,
  });
  if ((await currentName(layout, target)) === undefined) {
    await replaceLink(layout.current(target), layout.currentText(target, previous));
  }
  for (const item of adopted) await replaceLink(layout.link(item), layout.linkText(target, item));
}

/** Ends a switch for good: links of dropped ids go, then the journal. */
export async function commitSwitch(layout: Layout, entry: Journal): Promise<void> {
  const dropped = entry.previous_items.filter((old) => !entry.items.some((item) => sameItem(item, old)));
  for (const item of dropped) await removeOwnLink(layout, entry.target, item);
  await clearJournal(layout);
}

/**
 * Takes a deployment back to what ran before, from any point of it: also one that another process began. The journal goes last.
 */
export async function undoDeployment(layout: Layout, entry: Journal): Promise<void> {
  const { target } = entry;
  if (entry.phase === "switching") {
    await adopt(layout, entry);
    if (entry.previous === null) {
      for (const item of entry.items) await removeOwnLink(layout, target, item);
      await rm(layout.current(target), { force: true });
    } else {
      await replaceLink(layout.current(target), layout.currentText(target, entry.previous));
      for (const item of entry.previous_items) {
        if ((await standing(layout, target, item)) === "nothing")
          await replaceLink(layout.link(item), layout.linkText(target, item));
      }
      const added = entry.items.filter((item) => !entry.previous_items.some((old) => sameItem(old, item)));
      for (const item of added) await removeOwnLink(layout, target, item);
    }
    for (const id of entry.env_files) await rm(layout.envFile(id), { force: true });
  }
  await rm(layout.staging(target, entry.release), { recursive: true, force: true });
  if ((await currentName(layout, target)) !== entry.release) {
    await rm(layout.release(target, entry.release), { recursive: true, force: true });
  }
  await clearJournal(layout);
}

async function removeOwnLink(layout: Layout, target: Target, item: Item): Promise<void> {
  if ((await standing(layout, target, item)) === "ours") await rm(layout.link(item), { force: true });
}
