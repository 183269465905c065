import { existsSync } from "node:fs";
import { join } from "node:path";
import type { BaseTree } from "../artifact/delta/plan-tree.ts";
import { comparePaths } from "../artifact/tree/compare-paths.ts";
import { FileTable } from "../artifact/tree/file-table.ts";
import { artifactError } from "../contract/errors.ts";
import type { TargetName } from "../contract/target.ts";
import { missing } from "../support/files.ts";
import { CONTENTS_FILE, readContentsInBatches } from "./contents.ts";
import type { Layout } from "./layout.ts";
import { listReleases, type Release } from "./release.ts";
import { type Origin, SourceFolders } from "./source-folders.ts";

/**
 * Lists the kept releases of a target with a complete source tree, rolled-back ones too: any of them may be the base of
 * a delta, as long as its bytes are unchanged.
 */
export async function deltaBases(layout: Layout, target: TargetName): Promise<Release[]> {
  const releases = await listReleases(layout, target);
  return releases.filter(({ name, content_sha256, source_folders }) => {
    const list = join(layout.release(target, name), CONTENTS_FILE);
    return content_sha256 !== null && source_folders !== undefined && existsSync(list);
  });
}

/**
 * Reads the source tree of a release, as the base of a delta. Undefined when its list is gone.
 *
 * @throws ArtifactError `delta_base_changed` when the list is not the one of the tree that was installed
 */
export async function baseTree(layout: Layout, target: TargetName, release: Release): Promise<BaseTree | undefined> {
  try {
    const folder = layout.release(target, release.name);
    const tree = await listedInContents(folder, release);
    if (tree.files.digest() !== release.content_sha256) throw listChanged(release);
    return { version: release.version, contentSha256: release.content_sha256, ...tree };
  } catch (error) {
    if (missing(error)) return undefined;
    throw error;
  }
}

const listChanged = ({ version }: Release) =>
  artifactError("delta_base_changed", `The list of files of the release of ${version} is not what was written.`);

type ListedTree = Pick<BaseTree, "files" | "emptyFolders" | "pathOf">;

async function listedInContents(folder: string, release: Release): Promise<ListedTree> {
  const files = FileTable.empty();
  const emptyFolders: string[] = [];
  const folders = new SourceFolders(release.source_folders!, release.items);
  /** Origins by file index. */
  const origins: Origin[] = [];
  for await (const batch of readContentsInBatches(folder))
    for (const listed of batch) {
      if (listed === undefined) throw listChanged(release);
      if ("folder" in listed) emptyFolders.push(listed.folder);
      else if (listed.executable !== undefined) {
        const { path: place, executable, source = listed } = listed;
        const { size, sha256 } = source;
        const origin = folders.originOf(place);
        files.add({ path: folders.pathOf(place, origin), executable, size, sha256 });
        origins.push(origin);
      }
    }
  emptyFolders.sort(comparePaths);
  return { files, emptyFolders, pathOf: (file) => `${folder}/${folders.placeIn(origins[file]!, files.pathAt(file))}` };
}
