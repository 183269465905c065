import { symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { TargetName } from "../contract/target.ts";
import { statsOf } from "../support/files.ts";
import { adoptData } from "./data-folders.ts";
import { makeDurableFolder, syncNames } from "./durability.ts";
import { exchangePaths, exchangesEnded } from "./exchange.ts";
import type { JournalEntry } from "./journal.ts";
import type { Item, Layout } from "./layout.ts";
import { addLink, replaceLink } from "./links.ts";
import { ADOPTED, currentName, readRelease, writeRelease } from "./release.ts";

/**
 * Makes the real folders of a journal's entry part of its previous release (docs/contract/host.md). Each folder is
 * present under its name, complete, at every instant: everything that the link needs is prepared first, then folder and
 * link are exchanged in one step. A run that was killed may have done any of the steps already.
 */
export async function adoptFolders(layout: Layout, entry: JournalEntry): Promise<void> {
  const { target, previous, adopted } = entry;
  if (previous === null || adopted.length === 0) return;
  await exchangesEnded(layout);
  const record = await readRelease(layout, target, previous);
  await makeDurableFolder(layout, layout.release(target, previous));
  await writeRelease(layout, target, previous, {
    version: record?.version ?? ADOPTED,
    identity: record?.identity ?? null,
    content_sha256: record?.content_sha256 ?? null,
    created_at: record?.created_at ?? entry.started_at,
    items: [...entry.previous_items],
  });
  if ((await currentName(layout, target)) === undefined)
    await replaceLink(layout, layout.current(target), layout.currentText(target, previous));
  for (const item of adopted) {
    const place = join(layout.release(target, previous), item.section, item.id);
    await adoptFolder(layout, target, item, place);
    await adoptData(layout, item, place);
    await addLink(layout, target, item);
  }
}

async function adoptFolder(layout: Layout, target: TargetName, item: Item, place: string): Promise<void> {
  const folder = layout.link(item);
  if ((await statsOf(folder))?.isDirectory() !== true) return;
  await makeDurableFolder(layout, dirname(place));
  if ((await statsOf(place)) === undefined) await symlink(layout.linkText(target, item), place);
  await syncNames(layout, dirname(place));
  await exchangePaths(layout, folder, place);
  await syncNames(layout, dirname(place));
  await syncNames(layout, dirname(folder));
}
