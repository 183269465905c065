import { parseEnv } from "node:util";
import { MAX_LOG_CHARACTERS, MAX_LOG_LINES } from "../../contract/surfaces/reports.ts";
import { readInstalled } from "../../releases/applications.ts";
import { NO_SETTINGS, readFleetSettings } from "../../releases/fleet-settings.ts";
import type { Item, Layout } from "../../releases/layout.ts";
import { readSettingsFile } from "../../releases/settings-file.ts";
import { printableLine, withoutPasswords } from "../../support/printable.ts";
import { applicationLogs, readLogs } from "./logs.ts";
import { redactor } from "./redaction.ts";
import type { SystemdScope } from "./systemd-units.ts";

/** Time limit for reading a log, in milliseconds: a report without it is better than a late way back. */
const READ_LIMIT_MS = 5_000;
/** Most characters read of a line. */
const MAX_LINE = 1024;
/**
 * Reads the last lines that an application has written, for a report: at most {@link MAX_LOG_LINES}, safe for
 * terminals, without the values of the application's settings and passwords in URLs. Best effort: none if they cannot
 * be read in time.
 */
export async function logTail(
  layout: Layout,
  item: Item,
  { systemdScope = "system", signal }: { systemdScope?: SystemdScope | undefined; signal?: AbortSignal },
): Promise<string[]> {
  const limit = AbortSignal.timeout(READ_LIMIT_MS);
  const lines: string[] = [];
  try {
    const request = { lines: MAX_LOG_LINES, follow: false, systemdScope };
    const hide = redactor(await settingsOf(layout, item), MAX_LINE);
    await readLogs(await applicationLogs(layout, [item.id], request), {
      maxCharacters: MAX_LINE,
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
      onLine: ({ line }) => void lines.push(printableLine(withoutPasswords(hide(line)))),
    });
  } catch {
    return [];
  }
  return bounded(lines);
}

/**
 * Returns the values that an application may have written: those of its file, and of the fleet's settings that it has
 * or has just been started with.
 *
 * @throws error for a file that cannot be read: then nobody knows what to hide
 */
async function settingsOf(layout: Layout, item: Item): Promise<string[]> {
  const installed = await readInstalled(layout, item.id).catch(() => undefined);
  // One that is of another application has the settings of that one.
  const own = installed?.app.of === undefined ? item : { ...item, id: installed.app.of };
  const text = (await readSettingsFile(layout.envFile(own)))?.toString("utf8") ?? "";
  const fleet = installed === undefined ? NO_SETTINGS : await readFleetSettings(layout, installed.target);
  const ofFleet = [fleet.held, fleet.next].flatMap((one) => Object.values(one?.apps[own.id] ?? {}));
  return [...Object.values(parseEnv(text)).map(String), ...ofFleet];
}

/** Returns the last lines that a report may have. */
function bounded(lines: readonly string[]): string[] {
  const kept = lines.slice(-MAX_LOG_LINES);
  while (kept.join("\n").length > MAX_LOG_CHARACTERS) kept.shift();
  return kept;
}
