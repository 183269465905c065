import { SealiftError } from "../../contract/errors.ts";
import { forgetHeld, settingsDigest, writeHeld } from "../../releases/holds.ts";
import type { Applications } from "../applications/descriptors.ts";
import type { Run } from "./run.ts";

/**
 * Prepares the settings of a version's applications. Where an operator may still send what is missing, the version is
 * held until then, and not fetched again (docs/settings.md).
 *
 * @throws as `prepare` does
 */
export async function holdSettings(
  { layout, source, options, isTrial = false }: Run,
  { version, identity }: { version: string; identity: string | null },
  apps: Applications,
  prepare: () => Promise<void>,
): Promise<void> {
  const ids = [...apps.keys()];
  const settings = await settingsDigest(layout, source.target, ids);
  try {
    await prepare();
  } catch (error) {
    if (!isTrial && error instanceof SealiftError && error.code === "env_missing") {
      const held = { version, identity, message: error.message, apps: ids, settings, at: new Date().toISOString() };
      if (options.awaitsSettings === true) await writeHeld(layout, source.target, "settings", held);
      else await forgetHeld(layout, source.target, "settings");
    }
    throw error;
  }
  if (!isTrial) await forgetHeld(layout, source.target, "settings");
}
