import { lstatSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { openIndex } from "../artifact/delta/index-file.ts";
import type { Limits } from "../artifact/limits.ts";
import type { TreeListing } from "../artifact/tree/tree-listing.ts";
import { downloadIndex, type PublishTarget } from "../client/publish-client.ts";
import { MANIFEST_FILE } from "../contract/files/manifest.ts";
import { digestOf } from "../releases/contents.ts";
import { layoutOf } from "../releases/layout.ts";
import type { Emit } from "./base/events.ts";
import {
  applicationsIn,
  type Compared,
  descriptorsIn,
  type Difference,
  differencesBetween,
  type ListedFiles,
} from "./deployment/release-diff.ts";
import type { Fetched, Source } from "./sources/source.ts";

/** Two versions of a hub to compare. */
export interface ComparedVersions {
  from: string;
  to: string;
  differences: Difference[];
}

/**
 * Fetches two versions, verifies them as a deployment does, and compares them: files, plugins' rights, and the install
 * plans of projects. Keeps nothing.
 *
 * @throws as a deployment does
 */
export async function versionDifferences(
  sources: readonly [Source, Source],
  { limits, emit, signal }: { limits: Limits; emit: Emit; signal: AbortSignal },
): Promise<ComparedVersions> {
  const folder = await mkdtemp(join(tmpdir(), "sealift-diff-"));
  const read = async (source: Source): Promise<{ version: string; compared: Compared }> => {
    // There is no release here that a delta could complete.
    const layout = layoutOf(join(folder, "root"));
    const resolved = await source.resolve({ layout, emit, signal, isTrial: true });
    emit({ event: "resolve.ok", version: resolved.version, running_version: null });
    const staging = join(folder, "staging");
    await mkdir(staging, { mode: 0o700 });
    const { target } = source;
    const fetched = await resolved.fetch({ layout, target, staging, limits, emit, signal });
    const compared = await contentsOf(fetched);
    // Two trees at a time would take more room.
    await rm(staging, { recursive: true });
    return { version: resolved.version, compared };
  };
  try {
    const [a, b] = [await read(sources[0]), await read(sources[1])];
    return { from: a.version, to: b.version, differences: differencesBetween(a.compared, b.compared) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function contentsOf({ tree, listing, plugins, apps, plan, planOrigin }: Fetched): Promise<Compared> {
  const folders = new Map([...plugins].map(([id, { folder }]) => [id, join(tree, folder)]));
  return {
    files: await filesIn(tree, listing),
    descriptors: await descriptorsIn(folders),
    apps: await applicationsIn(tree, [...(apps ?? [])]),
    // The operator's own plan belongs to no version.
    plan: planOrigin === "artifact" ? plan : undefined,
  };
}

/** Lists the files of a verified tree, reading those that unpacking has not listed, such as of fetched plugins. */
async function filesIn(tree: string, { files: known }: TreeListing): Promise<ListedFiles> {
  const files: ListedFiles = new Map();
  for (const entry of await readdir(tree, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    const path = relative(tree, file);
    // Its content repeats the other lines.
    if (path === MANIFEST_FILE) continue;
    files.set(path, { size: lstatSync(file).size, sha256: known.find(path)?.sha256 ?? (await digestOf(file)) });
  }
  return files;
}

/**
 * Compares two versions of a project by the indexes that its signer has stored at the hub: files only.
 *
 * @param seed signer's private key, which alone opens an index
 * @throws DeploymentError `not_found` for a version without an index; ArtifactError `index_invalid`
 */
export async function indexDifferences(
  target: PublishTarget,
  versions: readonly [string, string],
  seed: Uint8Array,
): Promise<ComparedVersions> {
  const folder = await mkdtemp(join(tmpdir(), "sealift-diff-"));
  const read = async (version: string, name: string): Promise<Compared> => {
    const sealed = join(folder, name);
    await downloadIndex(target, version, sealed);
    const index = await openIndex(sealed, `${sealed}.plain`, seed, { projectId: target.projectId, version });
    const files: ListedFiles = new Map();
    for await (const entries of index.entries())
      for (const entry of entries) if (entry.type === "file") files.set(entry.path, entry);
    return { files, descriptors: new Map(), apps: new Map(), plan: undefined };
  };
  try {
    const [from, to] = versions;
    return { from, to, differences: differencesBetween(await read(from, "a"), await read(to, "b")) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
