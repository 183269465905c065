import { type SealiftError, usageError } from "../../contract/errors.ts";
import { type Target, targetName } from "../../contract/target.ts";
import { type Item, layoutOf } from "../../releases/layout.ts";
import { currentRelease } from "../../releases/release.ts";

/** Target of a watch, and where it installs. */
export interface Neighbour {
  name: string;
  target: Target;
  /** Project root with its links resolved. */
  root: string;
}

/**
 * Finds targets listed twice in a project root, and targets that install the same id there, as far as that is known
 * before a download.
 */
export async function neighbourFaults(targets: readonly Neighbour[]): Promise<SealiftError[]> {
  const faults: SealiftError[] = [];
  const owners = new Map<string, string>();
  const seen = new Set<string>();
  for (const { name, target, root } of targets) {
    if (seen.has(`${root} ${name}`)) {
      faults.push(usageError("config_invalid", `${name} is given twice for the project root ${root}.`));
      continue;
    }
    seen.add(`${root} ${name}`);
    for (const { section, id } of await itemsOf(target, root)) {
      const place = `${root}/${section}/${id}`;
      const owner = owners.get(place);
      if (owner !== undefined && owner !== name) {
        faults.push(usageError("config_invalid", `${name} and ${owner} both install ${section}/${id} in ${root}.`));
      }
      owners.set(place, name);
    }
  }
  return faults;
}

/**
 * Returns the ids that a target installs: its slug for a marketplace target, the items already installed for a project.
 */
async function itemsOf({ kind, slug }: Target, root: string): Promise<readonly Item[]> {
  if (kind === "plugin") return [{ section: "plugins", id: slug }];
  if (kind === "service") return [{ section: "extensions", id: slug }];
  return (await currentRelease(layoutOf(root), targetName({ kind, slug })))?.items ?? [];
}
