import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { ifThere } from "../support/files.ts";
import type { JournalEntry } from "./journal.ts";
import { dataFolderOf, type Item, type Layout } from "./layout.ts";
import { type OpenFolder, openFolder } from "./open-folder.ts";

/**
 * Lists the files that a release ships as data and that the host has with other bytes: the host keeps its own. What the
 * replaced release shipped, too, is not told again. Leaves out what this user may not read. Follows no link.
 *
 * @returns paths in the project root's form: `<section>/<id>/<data>/<path>`
 */
export async function keptData(
  layout: Layout,
  { target, release, previous }: Pick<JournalEntry, "target" | "release" | "previous">,
  item: Item,
): Promise<string[]> {
  const kept: string[] = [];
  await using folder = await opened(layout.data(item));
  if (folder === undefined) return kept;
  const shipped = layout.shippedData(target, release, item);
  const before = previous === null ? undefined : layout.shippedData(target, previous, item);
  await compare({ shipped, before }, folder, `${item.section}/${item.id}/${dataFolderOf(item)}/`, kept);
  return kept;
}

const opened = (path: string): Promise<OpenFolder | undefined> => openFolder(path).catch(() => undefined);

/** Folder that a release ships, and that of the release before. */
interface Shipped {
  shipped: string;
  before: string | undefined;
}

async function compare(of: Shipped, host: OpenFolder, shown: string, kept: string[]): Promise<void> {
  for (const entry of (await ifThere(readdir(of.shipped, { withFileTypes: true }))) ?? []) {
    const from = join(of.shipped, entry.name);
    const before = of.before && join(of.before, entry.name);
    const path = `${shown}${entry.name}`;
    if (entry.isDirectory()) {
      await using below = await opened(host.path(entry.name));
      if (below !== undefined) await compare({ shipped: from, before }, below, `${path}/`, kept);
    } else if (
      (await differs(from, host.path(entry.name))) &&
      (before === undefined || (await differs(from, before, true)))
    )
      kept.push(path);
  }
}

/** Tells whether a file is there with other bytes. @param orMissing also where it is not there */
async function differs(shipped: string, other: string, orMissing = false): Promise<boolean> {
  const size = (await lstat(shipped)).size;
  const found = await digestIfRegular(other, size);
  return found === undefined ? orMissing : found !== (await digestIfRegular(shipped, size));
}

/** Returns the digest of a regular file, or only its size if it is another one; undefined for anything else. */
async function digestIfRegular(path: string, size: number): Promise<string | undefined> {
  // A pipe or device of the application must not be waited for.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const stats = await file.stat();
    if (!stats.isFile()) return undefined;
    if (stats.size !== size) return `${stats.size} bytes`;
    const hash = createHash("sha256");
    for await (const chunk of file.createReadStream({ autoClose: false })) hash.update(chunk as Buffer);
    return hash.digest("hex");
  } finally {
    await file.close();
  }
}
