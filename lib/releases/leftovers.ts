import type { Dirent } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { TargetName } from "../contract/target.ts";
import { deployedFile } from "./deployed.ts";
import { HOLD_CAUSES, holdFile } from "./holds.ts";
import type { JournalEntry } from "./journal.ts";
import { type Layout, SECTIONS } from "./layout.ts";
import { type OpenFolder, openFolder } from "./open-folder.ts";
import { isFormerOfNobody } from "./replaced-env.ts";

const isSeed = (entry: Dirent): boolean => entry.isFile() && /^\.seed-[0-9a-f]{12}$/.test(entry.name);
const isLink = (entry: Dirent): boolean => entry.isSymbolicLink() && /^\.link-[0-9a-f]{12}$/.test(entry.name);
/** Tells whether an entry is the temporary name of a file that was being replaced. */
const isTemporary = (entry: Dirent, name: string): boolean =>
  entry.isFile() && new RegExp(`^\\.${RegExp.escape(name)}\\.[0-9a-f]{12}\\.tmp$`).test(entry.name);
const isHalfRoot = (entry: Dirent): boolean =>
  entry.isFile() && /^\.\d+\.root\.json\.[0-9a-f]{12}\.tmp$/.test(entry.name);
/** Tells whether an entry is the temporary name of settings that were being replaced, or kept for a way back. */
const isHalfSettings = (entry: Dirent): boolean => entry.isFile() && /^\..+\.env\.[0-9a-f]{12}\.tmp$/.test(entry.name);
const isReport = (entry: Dirent): boolean =>
  entry.isFile() && (/^\..+\.json\.[0-9a-f]{12}\.tmp$/.test(entry.name) || entry.name === "archive.ndjson.gz.tmp");

/**
 * Removes the temporary names that killed runs left: of the journal, of links, of settings, and of seeds in the data of
 * the items in the journal's switch; and former settings that no journal goes back to. Leaves those that cannot be
 * removed, since they do no harm. Requires the lock of the root, and comes before the journal's release is removed.
 */
export async function removeLeftovers(layout: Layout, interrupted: JournalEntry | undefined): Promise<void> {
  await removeIn(layout.sealift, (entry) => isTemporary(entry, basename(layout.journal)));
  for (const folder of [...SECTIONS.map((section) => layout.section(section)), join(layout.sealift, "current")])
    await removeIn(folder, (entry) => isLink(entry) || isHalfSettings(entry));
  const kept = interrupted?.replaced_env ?? [];
  await removeIn(join(layout.sealift, "state"), (entry) => isHalfSettings(entry) || isFormerOfNobody(entry.name, kept));
  if (interrupted === undefined) return;
  const { target, release, previous, items } = interrupted;
  if (previous !== null)
    await removeIn(layout.release(target, previous), (entry) => isTemporary(entry, "release.json"));
  for (const item of items) await removeSeeds(layout.shippedData(target, release, item), layout.data(item));
}

/**
 * Removes the temporary names of files that runs of a target write under its lock: its state, its trusted key and
 * roots, its deployed versions, what is held, and its reports. Requires that lock.
 */
export async function removeTargetLeftovers(layout: Layout, target: TargetName): Promise<void> {
  const held = HOLD_CAUSES.map((cause) => holdFile(layout, target, cause));
  const files = [deployedFile(layout, target), ...held, layout.state(target), layout.trust(target)];
  for (const file of files) await removeTemporaries(file);
  await removeIn(layout.reports(target), isReport);
  await removeIn(layout.roots(target), isHalfRoot);
}

/**
 * Removes the temporary names of one file that killed runs of its only writer left. Not while that writer may be at
 * work.
 */
export const removeTemporaries = (file: string): Promise<void> =>
  removeIn(dirname(file), (entry) => isTemporary(entry, basename(file)));

/**
 * Looks for seeds only in folders that the release ships: a plugin's data may have millions of files. Every step goes
 * from an open folder to a name in it, so that no link of the plugin is followed.
 */
async function removeSeeds(shipped: string, data: string): Promise<void> {
  await using folder = await openFolder(data).catch(() => undefined);
  if (folder === undefined) return;
  await removeNames(folder, isSeed);
  for (const entry of await entriesOf(shipped))
    if (entry.isDirectory()) await removeSeeds(join(shipped, entry.name), folder.path(entry.name));
}

async function removeIn(path: string, isLeftover: (entry: Dirent) => boolean): Promise<void> {
  await using folder = await openFolder(path).catch(() => undefined);
  if (folder !== undefined) await removeNames(folder, isLeftover);
}

async function removeNames(folder: OpenFolder, isLeftover: (entry: Dirent) => boolean): Promise<void> {
  for (const entry of await entriesOf(folder.path(".")))
    if (isLeftover(entry)) await rm(folder.path(entry.name), { force: true }).catch(() => {});
}

const entriesOf = (path: string): Promise<Dirent[]> => readdir(path, { withFileTypes: true }).catch(() => []);
