import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { APPLICATIONS_FOLDER } from "../contract/files/application-names.ts";
import type { TargetName } from "../contract/target.ts";
import { readFleetSettings } from "./fleet-settings.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";
import type { Layout } from "./layout.ts";
import { readSettingsFile } from "./settings-file.ts";

const heldSettings = z.object({
  version: z.string(),
  /** Identity that distinguishes two artifacts of one version. */
  identity: z.string().nullable(),
  /** Required names that have no value. */
  message: z.string(),
  /** Applications of the version, whose files of settings decide. */
  apps: z.array(z.string()),
  /** Digest of those files and of the settings of the fleet that the host held. */
  settings: z.string(),
  at: z.string(),
});
/** Version that waits for settings. */
export type HeldSettings = Readonly<z.infer<typeof heldSettings>>;

export const heldSettingsFile = (layout: Layout, target: TargetName): string =>
  join(layout.sealift, "state", `held-settings-${target}.json`);

/** Returns a text that changes with the settings of applications: their files, and those of the fleet that are held. */
export async function settingsDigest(layout: Layout, target: TargetName, apps: readonly string[]): Promise<string> {
  const { held } = await readFleetSettings(layout, target);
  const hash = createHash("sha256").update(JSON.stringify(held && [held.operator, held.to, held.number]));
  for (const id of apps) {
    const file = layout.envFile({ section: APPLICATIONS_FOLDER, id });
    const text = await readSettingsFile(file).catch(() => undefined);
    hash.update(`\n${id} ${text === undefined ? "-" : createHash("sha256").update(text).digest("hex")}`);
  }
  return hash.digest("hex");
}

/** Returns the version that waited for settings when it was seen last, whether or not it still does. */
export const readHeldSettings = (layout: Layout, target: TargetName): Promise<HeldSettings | undefined> =>
  readJsonFile(heldSettingsFile(layout, target), heldSettings);

/** Returns the version that still waits: no setting has changed since. */
export async function stillHeldSettings(layout: Layout, target: TargetName): Promise<HeldSettings | undefined> {
  const held = await readHeldSettings(layout, target);
  if (held === undefined) return undefined;
  return held.settings === (await settingsDigest(layout, target, held.apps)) ? held : undefined;
}

export const writeHeldSettings = (layout: Layout, target: TargetName, held: HeldSettings): Promise<void> =>
  writeJsonFile(heldSettingsFile(layout, target), held);

export const forgetHeldSettings = (layout: Layout, target: TargetName): Promise<void> =>
  rm(heldSettingsFile(layout, target), { force: true });
