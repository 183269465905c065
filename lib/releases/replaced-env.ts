import { rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ifThere, writeFileAtomic } from "../support/files.ts";
import { makeDurableFolder, syncNames } from "./durability.ts";
import type { Journal } from "./journal.ts";
import type { Layout } from "./layout.ts";
import { itemOfUnit } from "./names.ts";
import { readSettingsFile } from "./settings-file.ts";

const formerName = (unit: string): string => `former-${unit.replace("/", "-")}.env`;

/** Returns the place of a unit's former settings, while a run that has replaced them can be undone. */
const formerPath = ({ sealift }: Layout, unit: string): string => join(sealift, "state", formerName(unit));

/** Tells whether a name is that of former settings of none of these units: a killed run has left them. */
export const isFormerOfNobody = (name: string, units: readonly string[]): boolean =>
  /^former-.+\.env$/.test(name) && !units.some((unit) => formerName(unit) === name);

/**
 * Replaces the settings of a unit. The former ones are on the disk, and the journal names them, before it changes:
 * where there were none, the journal says that the file is new.
 */
export async function replaceEnvFile(journal: Journal, unit: string, text: string): Promise<void> {
  const { layout, entry } = journal;
  const path = layout.envFile(itemOfUnit(unit));
  const before = await readSettingsFile(path);
  if (before === undefined) {
    // An empty file in its place would keep a later version's template away.
    await journal.note({ env_files: [...entry.env_files, unit] });
    await makeDurableFolder(layout, dirname(path));
  } else {
    const former = formerPath(layout, unit);
    await makeDurableFolder(layout, dirname(former));
    await writeFileAtomic(former, before, { mode: 0o600 });
    await syncNames(layout, dirname(former));
    await journal.note({ replaced_env: [...entry.replaced_env.filter((one) => one !== unit), unit] });
  }
  await writeFileAtomic(path, text, { mode: 0o600 });
  await syncNames(layout, dirname(path));
}

/** Puts the former settings back that a run has replaced. It may be called again after a kill. */
export async function restoreEnvFiles(journal: Journal): Promise<void> {
  const { layout, entry } = journal;
  for (const unit of entry.replaced_env) {
    const path = layout.envFile(itemOfUnit(unit));
    await ifThere(rename(formerPath(layout, unit), path));
    await syncNames(layout, dirname(path));
  }
}

/** Removes the former settings of a run that is not undone any more. */
export async function forgetFormerEnvFiles(journal: Journal): Promise<void> {
  for (const unit of journal.entry.replaced_env) await rm(formerPath(journal.layout, unit), { force: true });
}
