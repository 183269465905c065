import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { ifThere, makeFolder, writeFileAtomic } from "../../support/files.ts";
import { UNITS } from "../../support/systemd/units.ts";
import { CONFIGURATIONS, dropInsOf, filesOfUnit, requireUnitName } from "./unit.ts";

/**
 * Returns where the key, the card and the configuration of a watch that is a service are.
 *
 * @param root folder below which all files are: `/`, or an image under construction
 * @throws UsageError `usage` for a name that no unit can have, and without root rights
 */
export function hostKeyPlace(name: string, root: string) {
  requireUnitName(name, root);
  const { key, card, watch } = filesOfUnit(name);
  return { folder: join(resolve(root), CONFIGURATIONS), key, card, watch };
}

/**
 * Has systemd hand the host's key to a watch, by a drop-in of its own beside that of `join`.
 *
 * @returns the path of the drop-in; undefined where the unit has the key already
 */
export async function handOverKey(name: string, root: string): Promise<string | undefined> {
  const folder = join(resolve(root), UNITS, dropInsOf(name));
  const line = `LoadCredential=host-key:${join(CONFIGURATIONS, filesOfUnit(name).key)}\n`;
  const file = join(folder, "51-host-key.conf");
  for (const path of [join(folder, "50-join.conf"), file])
    if ((await ifThere(readFile(path, "utf8")))?.includes(line) === true) return undefined;
  await makeFolder(dirname(file));
  await writeFileAtomic(file, `# Written by \`sealift host key --systemd\`: the key of this host.\n[Service]\n${line}`);
  return file;
}
