import { randomBytes } from "node:crypto";
import { readlink, rename, rm, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { deploymentError, type SealiftError } from "../contract/errors.ts";
import type { TargetName } from "../contract/target.ts";
import { statsOf } from "../support/files.ts";
import { makeDurableFolder, syncNames } from "./durability.ts";
import { type Item, type Layout, SECTIONS } from "./layout.ts";

/** Creates or replaces a link atomically. */
export async function replaceLink(layout: Layout, path: string, text: string): Promise<void> {
  const temporary = join(dirname(path), `.link-${randomBytes(6).toString("hex")}`);
  await makeDurableFolder(layout, dirname(path));
  await symlink(text, temporary);
  try {
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncNames(layout, dirname(path));
}

/** Examines `<section>/<id>`; an error says why the id cannot be used. */
export async function linkState(
  layout: Layout,
  target: TargetName,
  item: Item,
): Promise<"nothing" | "ours" | "folder" | SealiftError> {
  const path = layout.link(item);
  const stats = await statsOf(path);
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

/** Creates the link of an item at an unused path. */
export async function addLink(layout: Layout, target: TargetName, item: Item): Promise<void> {
  if ((await linkState(layout, target, item)) === "nothing")
    await replaceLink(layout, layout.link(item), layout.linkText(target, item));
}

/** Removes the link of an item, if the target made it. */
export async function removeOwnLink(layout: Layout, target: TargetName, item: Item): Promise<void> {
  if ((await linkState(layout, target, item)) === "ours") await rm(layout.link(item), { force: true });
}

/** Makes every link that a switch or its undo has made or removed durable. */
export async function syncLinks(layout: Layout): Promise<void> {
  for (const section of SECTIONS) await syncNames(layout, layout.section(section));
  await syncNames(layout, join(layout.sealift, "current"));
}
