import { dirname } from "node:path";
import { usageError } from "../contract/errors.ts";
import { makeFolder, writeFileAtomic } from "../support/files.ts";
import { applicationPaths, readInstalled } from "./applications.ts";
import { type SplitSettings, splitSettings, withFleet } from "./fleet-block.ts";
import { readFleetSettings } from "./fleet-settings.ts";
import type { Layout } from "./layout.ts";
import { acquireLock } from "./lock.ts";
import { readSettingsFile } from "./settings-file.ts";
import { quotedAlike, settingNames, withoutSetting, withSetting } from "./settings-text.ts";

/** Time to wait for another command that changes the same settings, in milliseconds. */
const LOCK_WAIT_MS = 10_000;

/** Setting of an application, with whose it is: of the host's own lines, or of the fleet, which wins. */
export interface OriginOfSetting {
  name: string;
  origin: "host" | "fleet";
}

/** Returns the names that are set for an application, sorted. */
export async function applicationSettings(layout: Layout, id: string): Promise<OriginOfSetting[]> {
  const { own, fleet } = await splitOf(layout, id);
  const names = new Set([...settingNames(own), ...Object.keys(fleet)]);
  return [...names].toSorted().map((name) => ({ name, origin: Object.hasOwn(fleet, name) ? "fleet" : "host" }));
}

/**
 * Changes one setting among the host's own lines, under the lock of the project root. The fleet's block stays behind
 * them.
 *
 * @param value undefined removes it
 * @returns whether anything has changed
 * @throws UsageError `settings_of_fleet` for a name that the fleet gives; `usage` for a value that readers differ about
 */
export async function changeSetting(
  layout: Layout,
  id: string,
  name: string,
  value: string | undefined,
): Promise<boolean> {
  const path = applicationPaths(layout, id).settings;
  await using _lock = await acquireLock(layout.lock, { waitMs: LOCK_WAIT_MS });
  const { own, fleet } = await splitOf(layout, id);
  if (Object.hasOwn(fleet, name)) throw ofFleet(id, name);
  if (value === undefined && !settingNames(own).includes(name)) return false;
  const changed = value === undefined ? withoutSetting(own, name) : withSetting(own, name, value);
  await makeFolder(dirname(path));
  await writeFileAtomic(path, withFleet(changed, fleet), { mode: 0o600 });
  return true;
}

async function splitOf(layout: Layout, id: string): Promise<SplitSettings> {
  const text = (await readSettingsFile(applicationPaths(layout, id).settings))?.toString("utf8") ?? "";
  const installed = await readInstalled(layout, id);
  const { held } = installed === undefined ? { held: null } : await readFleetSettings(layout, installed.target);
  const { own, fleet } = splitSettings(text, held?.apps[id]);
  // What an editor wrote into the block, and no quotes carry, goes, as at the next settings run.
  const kept = Object.entries(fleet).filter(([, value]) => quotedAlike(value) !== undefined);
  return { own, fleet: Object.fromEntries(kept) };
}

const ofFleet = (id: string, name: string) =>
  usageError("settings_of_fleet", `The fleet gives ${name} of ${id}, and its value counts on this host.`, {
    hint: "Change it in fleet.yaml, with an entry for this host where only this one differs, and run `sealift settings apply`.",
  });
