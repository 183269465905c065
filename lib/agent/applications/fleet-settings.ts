import type { Application } from "../../contract/files/application.ts";
import { APPLICATIONS_FOLDER } from "../../contract/files/application-names.ts";
import type { TargetName } from "../../contract/target.ts";
import {
  countingSettings,
  type IgnoredSetting,
  settingsText,
  splitSettings,
  type Values,
} from "../../releases/fleet-block.ts";
import { type AcceptedSettings, readFleetSettings } from "../../releases/fleet-settings.ts";
import type { Layout } from "../../releases/layout.ts";
import { unitKey } from "../../releases/names.ts";
import { readSettingsFile } from "../../releases/settings-file.ts";
import type { Applications } from "./descriptors.ts";

type Declared = Application["environment"];

/** Settings of the fleet for one application: those that count, and those that were written last. */
export interface FleetOfApplication {
  values: Values;
  written: Values;
}

/** Returns the settings of the fleet that a version of an application reads, of those that its target holds. */
export async function fleetOfTarget(
  layout: Layout,
  target: TargetName,
): Promise<(id: string, declared: Declared) => FleetOfApplication> {
  const { held } = await readFleetSettings(layout, target);
  return (id, declared) => ({ values: valuesOf(held, id, declared).values, written: held?.apps[id] ?? {} });
}

/**
 * Returns the settings of a document that an application reads.
 *
 * @param declared undefined for an application that the target does not install
 */
export const valuesOf = (
  settings: Pick<AcceptedSettings, "apps"> | null,
  id: string,
  declared: Declared | undefined,
): { values: Values; ignored: IgnoredSetting[] } =>
  countingSettings(id, settings?.apps[id] ?? {}, declared && new Set([...declared.required, ...declared.optional]));

/**
 * Composes the settings of applications that have a file already, from the host's own lines and those of the fleet.
 *
 * @param settings document that counts; by default, the one that the target holds
 * @returns unit → text, for files that change
 * @throws UsageError `config_invalid` as {@link settingsText}
 */
export async function settingsOfApplications(
  layout: Layout,
  target: TargetName,
  apps: Applications,
  settings?: Pick<AcceptedSettings, "apps">,
): Promise<Map<string, string>> {
  const { held } = await readFleetSettings(layout, target);
  const changed = new Map<string, string>();
  for (const [id, { environment }] of apps) {
    const item = { section: APPLICATIONS_FOLDER, id } as const;
    const text = (await readSettingsFile(layout.envFile(item)))?.toString("utf8");
    const { own } = splitSettings(text ?? "", held?.apps[id]);
    const composed = settingsText(layout.envFile(item), own, valuesOf(settings ?? held, id, environment).values);
    if (composed !== (text ?? "")) changed.set(unitKey(item), composed);
  }
  return changed;
}
