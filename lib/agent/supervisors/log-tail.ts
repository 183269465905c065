import { readFile } from "node:fs/promises";
import { parseEnv } from "node:util";
import { MAX_LOG_CHARACTERS, MAX_LOG_LINES } from "../../contract/surfaces/reports.ts";
import { readInstalled } from "../../releases/applications.ts";
import type { Item, Layout } from "../../releases/layout.ts";
import { printableLine, withoutPasswords } from "../../support/printable.ts";
import { applicationLogs, readLogs } from "./logs.ts";
import type { SystemdScope } from "./systemd-units.ts";

/** Time limit for reading a log, in milliseconds: a report without it is better than a late way back. */
const READ_LIMIT_MS = 5_000;
/** Most characters read of a line. */
const MAX_LINE = 1024;
/** Least characters of a setting's value that is taken out of a log: shorter ones stand in many words by chance. */
const LEAST_SECRET = 6;

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
    // One that is of another application has the settings of that one.
    const of = (await readInstalled(layout, item.id).catch(() => undefined))?.app.of;
    const settings = layout.envFile(of === undefined ? item : { ...item, id: of });
    const hide = redactor(await readFile(settings, "utf8").catch(() => ""));
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

/** Returns a function that takes the values of settings out of a text. @param settings content of the `.env` file */
function redactor(settings: string): (text: string) => string {
  const values = Object.values(parseEnv(settings))
    .flatMap((value) => (value !== undefined && value.length >= LEAST_SECRET ? [value] : []))
    // A value that holds another one goes first.
    .toSorted((a, b) => b.length - a.length);
  return (text) => values.reduce((shown, value) => shown.replaceAll(value, "[redacted]"), text);
}

/** Returns the last lines that a report may have. */
function bounded(lines: readonly string[]): string[] {
  const kept = lines.slice(-MAX_LOG_LINES);
  while (kept.join("\n").length > MAX_LOG_CHARACTERS) kept.shift();
  return kept;
}
