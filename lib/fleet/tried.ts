import type { SettingsOutcome } from "../contract/settings/texts.ts";

/** Code of an application that an operator has stopped: it takes any settings, and tries none. */
const STOPPED = "app_stopped";

/** Tells whether a host has some application stopped, as of its last outcome. */
export const hasStopped = (outcome: Pick<SettingsOutcome, "ignored"> | undefined): boolean =>
  outcome?.ignored.some(({ code }) => code === STOPPED) === true;

/**
 * Returns the code for which no application of a host has run with the settings that it took; undefined where one has,
 * or where it could not use them.
 *
 * @param apps settings by application and name
 */
export function untriedFor(
  apps: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  { state, ignored }: Pick<SettingsOutcome, "state" | "ignored">,
): string | undefined {
  if (state !== "applied") return undefined;
  const unused = new Set(ignored.map(({ name }) => name));
  const isUntried = ([id, names]: [string, object]): boolean =>
    unused.has(id) || Object.keys(names).every((name) => unused.has(`${id}.${name}`));
  const ids = Object.entries(apps);
  // Settings that only take values away name no application.
  const none = ids.length === 0 ? hasStopped({ ignored }) : ids.every(isUntried);
  return none ? ignored.at(-1)!.code : undefined;
}
