import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { DEFAULT_LIMITS } from "../../artifact/limits.ts";
import { type ForeignAddons, foreignAddons, THIS_PLATFORM } from "../../artifact/packages/addons.ts";
import type { InstalledPackage } from "../../artifact/packages/installed-packages.ts";
import { PackageTree } from "../../artifact/packages/package-tree.ts";
import type { SourceMember } from "../../artifact/tree/member-list.ts";
import { type LeftOut, listSourceTree } from "../../artifact/tree/source-tree.ts";

/** Folder for what a plugin writes, which is never part of a release. */
const DATA = "data";

export interface ListingOptions {
  folder: string;
  /** Name of the plugin. */
  name: string;
  /** Names to pack although they are normally left out, such as `node_modules`. */
  include?: readonly string[] | undefined;
  /** Installed packages that are packed with it. */
  packages?: readonly InstalledPackage[];
  /** Platform of the hosts; default that of this machine. */
  platform?: string | undefined;
  /** Archive that is about to be written, which never holds itself. */
  output?: string;
}

/** Files of a plugin, as an archive holds them and a trial runs them. */
export interface PackingList {
  files: SourceMember[];
  leftOut: LeftOut[];
  /** Native addons that do not fit the hosts. */
  foreign: ForeignAddons[];
}

/**
 * Lists the files of a plugin's folder: without its data, earlier archives of it, and what is never packed.
 *
 * @throws UsageError `source_*` for what agents would refuse
 */
export function listPlugin(options: ListingOptions): PackingList {
  const { folder, name, include = [], packages, output, platform = THIS_PLATFORM } = options;
  const tree = packages && new PackageTree();
  tree?.add("", packages!);
  const listed = listSourceTree(folder, {
    include,
    limits: DEFAULT_LIMITS,
    packages: tree,
    leaveOut: (path) => {
      if (path === DATA) return "data of this machine";
      if (!path.toLowerCase().endsWith(".zip")) return undefined;
      const file = join(folder, path);
      return file === output || holdsPlugin(file, name) ? "archive of the plugin" : undefined;
    },
  });
  return {
    files: [...listed.members].filter(({ type }) => type === "file"),
    leftOut: listed.leftOut,
    foreign: foreignAddons(listed, tree, platform),
  };
}

/** Start of a member's header in a ZIP, its length, and where it has the length of the name. */
const MAGIC = Buffer.from("PK\x03\x04");
const HEADER_BYTES = 30;
const NAME_LENGTH_AT = 26;

/** Tells whether a ZIP begins with the folder of a plugin, as each of its archives does. */
function holdsPlugin(file: string, name: string): boolean {
  const folder = `${name}/`;
  const start = Buffer.alloc(HEADER_BYTES + Buffer.byteLength(folder));
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch {
    // The listing itself reports it.
    return false;
  }
  try {
    if (readSync(descriptor, start) < start.length || !start.subarray(0, MAGIC.length).equals(MAGIC)) return false;
    const isLonger = start.readUInt16LE(NAME_LENGTH_AT) > Buffer.byteLength(folder);
    return isLonger && start.toString("utf8", HEADER_BYTES) === folder;
  } finally {
    closeSync(descriptor);
  }
}
