import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { TargetName } from "../contract/target.ts";
import { makeFolder, namesIn } from "../support/files.ts";
import { tryLock } from "../support/process-lock.ts";
import { type Attempt, attempt, Journal, type JournalEntry, readJournal } from "./journal.ts";
import { readJsonFile } from "./json-file.ts";
import { ATTEMPT_FILE, type Layout, STAGING_PREFIX } from "./layout.ts";
import { removeLeftovers, removeTargetLeftovers } from "./leftovers.ts";
import { currentName, hasRecord } from "./release.ts";
import { finishSwitch, undoSwitch } from "./switch.ts";

/**
 * Ends the deployment that a killed run left in the journal (docs/contract/host.md): completes a committed one, undoes
 * any other. Removes the temporary names that killed runs left, journal or not. Requires the lock of the root.
 *
 * @param tell called before the journal is removed, so after a kill in between it is called again
 * @throws DeploymentError `journal_unreadable`
 */
export async function recoverJournal(
  layout: Layout,
  tell: (entry: JournalEntry) => Promise<void> = async () => {},
): Promise<JournalEntry | undefined> {
  const journal = await Journal.found(layout);
  await removeLeftovers(layout, journal?.entry);
  if (journal === undefined) return undefined;
  if (journal.entry.phase === "committed") await finishSwitch(journal);
  else await undoSwitch(journal);
  await tell(journal.entry);
  await journal.clear();
  return journal.entry;
}

/** Removes the temporary names of runs that were killed without a journal, if nobody uses the root now. */
export async function sweepRoot(layout: Layout): Promise<void> {
  await makeFolder(layout.sealift);
  using lock = tryLock(layout.lock);
  if (lock === undefined || (await readJournal(layout)) !== undefined) return;
  await removeLeftovers(layout, undefined);
  await rm(`${layout.lock}.holder`, { force: true });
}

/** True when a run of the target was killed while it fetched, or is fetching now. */
export async function hasStaging(layout: Layout, target: TargetName): Promise<boolean> {
  return (await namesIn(layout.releases(target))).some((name) => name.startsWith(STAGING_PREFIX));
}

/**
 * Removes staging folders and releases of a target that were never finished. Requires the lock of the target, and that
 * no journal is of this target.
 *
 * @returns the deployments that were killed while they fetched
 */
export async function sweepTarget(layout: Layout, target: TargetName): Promise<Attempt[]> {
  const killed: Attempt[] = [];
  await removeTargetLeftovers(layout, target);
  const current = await currentName(layout, target);
  for (const name of await namesIn(layout.releases(target))) {
    const folder = join(layout.releases(target), name);
    if (name.startsWith(STAGING_PREFIX)) {
      const found = await readJsonFile(join(folder, ATTEMPT_FILE), attempt);
      if (found?.target === target) killed.push(found);
    } else if (name === current || (await hasRecord(layout, target, name))) continue;
    await rm(folder, { recursive: true, force: true });
  }
  return killed;
}
