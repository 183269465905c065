import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { LRUCache } from "lru-cache";
import { anchoredRoot, type TrustRoot } from "../artifact/trust/root.ts";
import { artifactError } from "../contract/errors.ts";
import type { TargetName } from "../contract/target.ts";
import { MAX_ROOT_BYTES, rootFileName, type RootMark } from "../contract/trust/marks.ts";
import { ifThere, readFault, readTextFile, writeFileAtomic } from "../support/files.ts";
import { makeDurableFolder } from "./durability.ts";
import type { Layout } from "./layout.ts";

const NAME = /^([1-9]\d{0,9})\.root\.json$/;

/** Root that a target of this host follows. */
export interface FollowedRoot extends TrustRoot {
  /** Time when this host took over its newest version, ISO 8601. */
  since: string;
}

/** Documents that this process has verified, by their texts: curves take longer than files. */
const verified = new LRUCache<string, TrustRoot>({ max: 256 });

/**
 * Reads the newest version of the trust root that a target follows; undefined where it follows none.
 *
 * @throws ArtifactError `trust_root_invalid`, `trust_root_undersigned` for a file that was changed or cannot be read
 */
export async function readFollowedRoot(layout: Layout, target: TargetName): Promise<FollowedRoot | undefined> {
  const folder = layout.roots(target);
  const names = (await ifThere(readdir(folder))) ?? [];
  const newest = Math.max(0, ...names.map((name) => Number(NAME.exec(name)?.[1] ?? 0)));
  if (newest === 0) return undefined;
  const file = join(folder, rootFileName(newest));
  const text = await readTextFile(file, MAX_ROOT_BYTES).catch((error: unknown) => {
    throw artifactError("trust_root_invalid", `${file} cannot be read: ${readFault(error)}.`, { cause: error });
  });
  const known = verified.get(text);
  const root = known ?? anchoredRoot(text, file);
  if (known === undefined) verified.set(text, root);
  return { ...root, since: (await stat(file)).mtime.toISOString() };
}

/** Returns the version of the root that a target follows; undefined for none, or where it cannot be read. */
export async function readRootMark(layout: Layout, target: TargetName): Promise<RootMark | undefined> {
  const root = await readFollowedRoot(layout, target).catch(() => undefined);
  return root && { version: root.version, digest: root.digest };
}

/** Keeps a verified version of a root. It counts from here on, and is on the disk when this returns. */
export async function keepRoot(layout: Layout, target: TargetName, root: TrustRoot): Promise<void> {
  const { version, text } = root;
  const folder = layout.roots(target);
  await makeDurableFolder(layout, folder);
  await writeFileAtomic(join(folder, rootFileName(version)), text);
  verified.set(text, root);
}
