import { rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeFolder, statsOf } from "../support/files.ts";
import { adoptData } from "./data-folders.ts";
import type { JournalEntry } from "./journal.ts";
import type { Layout } from "./layout.ts";
import { replaceLink } from "./links.ts";
import { currentName, readRelease, writeRelease } from "./release.ts";

/**
 * Makes the real folders of a journal's entry part of its previous release (docs/contract/host.md). Each step may have been done already
 * by a run that was killed.
 */
export async function adoptFolders(layout: Layout, entry: JournalEntry): Promise<void> {
  const { target, previous, adopted } = entry;
  if (previous === null || adopted.length === 0) return;
  const release = layout.release(target, previous);
  for (const item of adopted) {
    const folder = layout.link(item);
    const place = join(release, item.section, item.id);
    await makeFolder(dirname(place));
    if ((await statsOf(folder))?.isDirectory()) await rename(folder, place);
    await adoptData(layout, item, place);
  }
  const record = await readRelease(layout, target, previous);
  await writeRelease(layout, target, previous, {
    version: record?.version ?? "adopted",
    identity: record?.identity ?? null,
    content_sha256: record?.content_sha256 ?? null,
    created_at: record?.created_at ?? entry.started_at,
    items: [...entry.previous_items],
  });
  if ((await currentName(layout, target)) === undefined)
    await replaceLink(layout.current(target), layout.currentText(target, previous));
  for (const item of adopted) await replaceLink(layout.link(item), layout.linkText(target, item));
}
