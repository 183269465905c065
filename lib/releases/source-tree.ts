import { existsSync } from "node:fs";
import { join } from "node:path";
import type { BaseTree } from "../artifact/delta/complete-tree.ts";
import { readTreeList } from "../artifact/tree/tree-list.ts";
import { missing } from "../support/files.ts";
import type { Layout, Section, Target } from "./layout.ts";
import { listReleases, type Release } from "./release.ts";

/** In a release: the list of the tree that it was made of, and what of that tree no step installed. */
export const TREE_LIST = "tree.ndjson";
export const REST_FOLDER = "rest";

/**
 * The kept releases of a target whose whole source tree is still there: any of them may be the base of a delta, also
 * one that was rolled back, as long as its bytes are what they were.
 */
export async function deltaBases(layout: Layout, target: Target): Promise<Release[]> {
  const releases = await listReleases(layout, target);
  return releases.filter(({ name, content_sha256, source_folders }) => {
    const list = join(layout.release(target, name), TREE_LIST);
    return content_sha256 !== null && source_folders !== undefined && existsSync(list);
  });
}

/** The source tree of a release, as the base of a delta. Undefined when its list is gone. */
export async function baseTree(layout: Layout, target: Target, release: Release): Promise<BaseTree | undefined> {
  const folder = layout.release(target, release.name);
  try {
    return {
      version: release.version,
      contentSha256: release.content_sha256!,
      entries: await readTreeList(join(folder, TREE_LIST)),
      pathOf: (path) => sourceFile(layout, target, release, path),
    };
  } catch (error) {
    if (missing(error)) return undefined;
    throw error;
  }
}

/**
 * Returns the place of a file of a release's source tree: installed, set apart as data that is shipped, or among the
 * rest.
 */
function sourceFile(layout: Layout, target: Target, release: Release, path: string): string {
  const folder = layout.release(target, release.name);
  for (const [place, source] of Object.entries(release.source_folders ?? {})) {
    if (!path.startsWith(`${source}/`)) continue;
    const [section, id] = place.split("/") as [Section, string];
    const inside = path.slice(source.length + 1);
    if (inside.startsWith("data/"))
      return join(layout.shippedData(target, release.name, { section, id }), inside.slice("data/".length));
    return join(folder, section, id, inside);
  }
  const rest = join(folder, REST_FOLDER, path);
  // The manifest and the integration file stand beside the rest, for people to read.
  return path.includes("/") || existsSync(rest) ? rest : join(folder, path);
}
