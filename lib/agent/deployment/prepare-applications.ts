import { join } from "node:path";
import { APPLICATIONS_FOLDER, SETTINGS_TEMPLATE } from "../../contract/files/application-names.ts";
import type { TargetName } from "../../contract/target.ts";
import type { Layout } from "../../releases/layout.ts";
import { unitKey } from "../../releases/names.ts";
import { statsOf } from "../../support/files.ts";
import type { Applications } from "../applications/descriptors.ts";
import { fleetOfTarget } from "../applications/fleet-settings.ts";
import { writeLaunchers } from "../applications/launchers.ts";
import { type MissingSettings, prepareEnvFile, requireSettings } from "./env-file.ts";

/** Release whose applications have their places. */
interface Installed {
  layout: Layout;
  /** Folder of the release. */
  release: string;
  /** Unit → prepared `.env` file, for the switch to put in place. */
  envFiles: Map<string, string>;
  /** Unit → text that replaces its `.env` file at the switch. */
  settings: Map<string, string>;
  /** Target whose settings of the fleet count. */
  target: TargetName;
  /** Names that the operator lets templates use; none for every one that `app.yaml` declares. */
  templateEnv: readonly string[];
}

/**
 * Makes the launchers of a release's applications, and settings where there are none yet: from the template in their
 * folder and from this process's environment. The settings of the fleet are those that the release declares.
 *
 * @throws DeploymentError `env_missing` with every required name of every application that has no value; `needs_unmet`
 */
export async function prepareApplications(
  { layout, release, envFiles, settings, target, templateEnv }: Installed,
  apps: Applications,
): Promise<void> {
  await writeLaunchers(release, apps);
  const missing: MissingSettings[] = [];
  const fleetOf = await fleetOfTarget(layout, target);
  for (const [id, { environment }] of apps) {
    const item = { section: APPLICATIONS_FOLDER, id } as const;
    const template = join(release, APPLICATIONS_FOLDER, id, SETTINGS_TEMPLATE);
    const prepared = join(release, `${APPLICATIONS_FOLDER}-${id}.env`);
    const {
      isNew,
      text,
      missing: lacks,
    } = await prepareEnvFile({
      plugin: id,
      template: (await statsOf(template))?.isFile() === true ? template : undefined,
      existing: layout.envFile(item),
      prepared,
      ...environment,
      allowed: templateEnv,
      environment: process.env,
      isOnlySource: true,
      fleet: fleetOf(id, environment),
    });
    if (lacks !== undefined) missing.push(lacks);
    if (isNew) envFiles.set(unitKey(item), prepared);
    if (text !== undefined) settings.set(unitKey(item), text);
  }
  requireSettings(missing);
}
