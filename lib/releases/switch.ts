import { chmod, link, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { TargetName } from "../contract/target.ts";
import { statsOf } from "../support/files.ts";
import { adoptFolders } from "./adoption.ts";
import { checkAdoptable, giveData, makeData } from "./data-folders.ts";
import { barrier, makeDurableFolder, syncBytes, syncNames } from "./durability.ts";
import type { Journal } from "./journal.ts";
import { isApplication, type Item, type Layout, sameItem } from "./layout.ts";
import { addLink, linkState, removeOwnLink, replaceLink, syncLinks } from "./links.ts";
import { itemOfUnit } from "./names.ts";
import { ADOPTED, currentName, newReleaseName, readRelease, removeRelease } from "./release.ts";
import { forgetFormerEnvFiles, replaceEnvFile, restoreEnvFiles } from "./replaced-env.ts";

/** Finished release, with what the host gets with it. */
export interface NewRelease {
  items: readonly Item[];
  /** Unit → prepared `.env` file, put in place where the host has none. */
  envFiles: ReadonlyMap<string, string>;
  /** Unit → text that replaces its `.env` file. */
  settings?: ReadonlyMap<string, string>;
}

/**
 * Plans a switch to `items`, and rejects what is impossible: an id of another target, a foreign link.
 *
 * @returns the real folders to adopt
 * @throws DeploymentError `id_taken`, `data_conflict`
 */
export async function planSwitch(layout: Layout, target: TargetName, items: readonly Item[]): Promise<Item[]> {
  const adopted: Item[] = [];
  for (const item of items) {
    const found = await linkState(layout, target, item);
    if (found === "folder") {
      await checkAdoptable(layout, item, layout.link(item));
      adopted.push(item);
    } else if (typeof found !== "string") throw found;
  }
  return adopted;
}

/**
 * Switches to a release (docs/contract/host.md): the barrier, the journal, then the adoption of real folders, data,
 * environment files and links of new ids, each durable by itself, and finally the one rename. Nothing before that
 * rename changes what runs.
 *
 * @param journal in phase `staging`
 * @returns what was left out: `<section>/<id>/data/<path>` where a plugin's own file is in the way
 */
export async function switchRelease(journal: Journal, { items, envFiles, settings }: NewRelease): Promise<string[]> {
  const { layout } = journal;
  const { target, release } = journal.entry;
  const adopted = await planSwitch(layout, target, items);
  const running = await currentName(layout, target);
  const before = running === undefined ? [] : ((await readRelease(layout, target, running))?.items ?? []);
  // Nothing visible changes before the release is on the disk: undoing the rest relies on its contents.
  await barrier(layout, [layout.release(target, release)]);
  await journal.note({
    phase: "switching",
    items: [...items],
    adopted,
    previous: running ?? (adopted.length > 0 ? newReleaseName(ADOPTED) : null),
    previous_items: [...before, ...adopted.filter((item) => !before.some((other) => sameItem(other, item)))],
  });

  await adoptFolders(layout, journal.entry);
  const blocked: string[] = [];
  for (const item of items) {
    // An application's data belongs to its user: what its release ships is put there at its start, by that user.
    if (isApplication(item)) await makeData(layout, item);
    else {
      const paths = await giveData(layout, target, release, item);
      blocked.push(...paths.map((path) => `${item.section}/${item.id}/data/${path}`));
    }
  }
  for (const [unit, prepared] of envFiles) await placeEnvFile(journal, unit, prepared);
  for (const [unit, text] of settings ?? []) await replaceEnvFile(journal, unit, text);
  for (const item of items) await addLink(layout, target, item);
  await replaceLink(layout, layout.current(target), layout.currentText(target, release));
  return blocked;
}

async function placeEnvFile(journal: Journal, unit: string, prepared: string): Promise<void> {
  const path = journal.layout.envFile(itemOfUnit(unit));
  if ((await statsOf(path)) !== undefined) return;
  await journal.note({ env_files: [...journal.entry.env_files, unit] });
  await makeDurableFolder(journal.layout, dirname(path));
  await chmod(prepared, 0o600);
  await syncBytes(journal.layout, prepared);
  await link(prepared, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  await rm(prepared);
  await syncNames(journal.layout, dirname(path));
}

/** Removes what a committed switch no longer needs: the links of dropped ids. The caller clears the journal. */
export async function finishSwitch(journal: Journal): Promise<void> {
  const { target, items, previous_items: before } = journal.entry;
  const dropped = before.filter((old) => !items.some((item) => sameItem(item, old)));
  for (const item of dropped) await removeOwnLink(journal.layout, target, item);
  await forgetFormerEnvFiles(journal);
  await syncLinks(journal.layout);
}

/** Reverts a deployment from any point of it, even one that another process began. The caller clears the journal. */
export async function undoSwitch(journal: Journal): Promise<void> {
  const { layout, entry } = journal;
  const { target, release } = entry;
  if (entry.phase === "switching") {
    await adoptFolders(layout, entry);
    if (entry.previous === null) {
      for (const item of entry.items) await removeOwnLink(layout, target, item);
      await rm(layout.current(target), { force: true });
    } else {
      await replaceLink(layout, layout.current(target), layout.currentText(target, entry.previous));
      for (const item of entry.previous_items) await addLink(layout, target, item);
      const added = entry.items.filter((item) => !entry.previous_items.some((old) => sameItem(old, item)));
      for (const item of added) await removeOwnLink(layout, target, item);
    }
    await syncLinks(layout);
  }
  for (const unit of entry.env_files) await rm(layout.envFile(itemOfUnit(unit)), { force: true });
  await restoreEnvFiles(journal);
  if (!entry.keeps_release && (await currentName(layout, target)) !== release)
    await removeRelease(layout, target, release);
}
