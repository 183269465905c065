import { createReadStream, createWriteStream } from "node:fs";
import { rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import yazl from "yazl";
import { addonNote, THIS_PLATFORM } from "../../artifact/packages/addons.ts";
import { installedPackages, PROVIDED } from "../../artifact/packages/installed-packages.ts";
import type { LeftOut } from "../../artifact/tree/source-tree.ts";
import { usageError } from "../../contract/errors.ts";
import { DESCRIPTOR_FILE } from "../../contract/files/manifest.ts";
import { missingPackages } from "./imports.ts";
import { licenceNotice } from "./licences.ts";
import { listPlugin } from "./packing-list.ts";
import { descriptorOf } from "./plugin-folder.ts";

/** File with the licences of packed dependencies. */
const NOTICE = "THIRD-PARTY-LICENCES.txt";

/** Modification time of all members, so that the same files make the same archive. */
const TIME = new Date("2000-01-01T00:00:00Z");

export interface PackOptions {
  folder: string;
  /** Default: `<name>-<version>.zip` in the working folder. */
  output?: string;
  /** Names to pack although they are normally left out, such as `node_modules`. */
  include?: readonly string[];
  /** Packs the production packages of the lock file, as they are installed, and a list of their licences. */
  withDependencies?: boolean;
  /** Platform of the hosts, such as `linux-arm64`. Default: that of this machine. */
  platform?: string | undefined;
}

export interface PackedPlugin {
  name: string;
  version: string;
  file: string;
  sizeBytes: number;
  files: number;
  /** Paths that were left out, each with its reason. */
  leftOut: LeftOut[];
  /** Packages that the code uses and package.json declares, and that are not in the archive. */
  missingDependencies: string[];
  /** Packages whose native addons are for other platforms, each with what to do. */
  foreignAddons: string[];
}

/**
 * Packs a plugin into a ZIP for the marketplace: one folder of the plugin's name, without `data/` and what is never
 * packed. The same files make the same bytes.
 * @throws UsageError for a folder that is not a plugin, a missing entry point, or a file that agents would refuse
 */
export async function packPlugin(options: PackOptions): Promise<PackedPlugin> {
  const folder = resolve(options.folder);
  const { name, version, entry_point } = await descriptorOf(folder);
  const entry = await stat(join(folder, entry_point)).catch(() => undefined);
  if (entry?.isFile() !== true) {
    throw usageError("usage", `The entry point ${entry_point} of ${folder} does not exist.`, {
      hint: `Build the plugin first, or correct entry_point in ${DESCRIPTOR_FILE}.`,
    });
  }
  const file = resolve(options.output ?? `${name}-${version}.zip`);
  const { include, platform = THIS_PLATFORM } = options;
  const packages = options.withDependencies === true ? installedPackages(folder, { provided: PROVIDED }) : undefined;
  const list = listPlugin({ folder, name, include, platform, output: file, ...(packages && { packages }) });
  const { files: packed, leftOut, foreign } = list;
  if (!packed.some(({ path }) => path === entry_point)) {
    throw usageError("usage", `The entry point ${entry_point} is left out of the archive.`, {
      hint: "Bring it back with --include.",
    });
  }
  const zip = new yazl.ZipFile();
  for (const { path, executable, size } of packed) {
    const options = { mtime: TIME, mode: executable ? 0o100755 : 0o100644, size, forceDosTimestamp: true };
    zip.addReadStreamLazy(`${name}/${path}`, options, (done) => done(null, createReadStream(join(folder, path))));
  }
  if (packages?.length) zip.addBuffer(Buffer.from(licenceNotice(packages)), `${name}/${NOTICE}`, { mtime: TIME });
  zip.end();
  try {
    await pipeline(zip.outputStream, createWriteStream(file));
  } catch (error) {
    await rm(file, { force: true });
    throw usageError("usage", `${file} cannot be written: ${(error as Error).message}.`);
  }
  const { size } = await stat(file);
  return {
    ...{ name, version, file, sizeBytes: size, files: packed.length },
    leftOut,
    missingDependencies: await missingPackages(folder, entry_point, packed),
    foreignAddons: foreign.map((found) => addonNote(found, platform)),
  };
}
