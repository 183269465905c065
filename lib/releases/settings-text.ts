import { parseEnv } from "node:util";
import { usageError } from "../contract/errors.ts";

/**
 * Text of `apps/<id>.env`, which systemd and Node read alike as long as each value is written as here
 * (docs/applications.md#settings). Comments, and lines that others wrote, stay as they are.
 */

/** Names that a variable may have. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Values that neither reader takes for anything else without quotes. */
const PLAIN = /^[A-Za-z0-9_./:@%+,=-]+$/;
/** Characters that systemd refuses in a value, and the carriage return, which Node drops. */
const REFUSED = /[\0-\x08\x0b-\x1f\x7f]/;

/** Checks the name of a setting. @throws UsageError `usage` */
export function settingName(name: string): string {
  if (NAME.test(name)) return name;
  throw usageError("usage", `${JSON.stringify(name)} is not a name of a variable.`, {
    hint: "It has letters, digits and _, and begins with no digit.",
  });
}

/** Returns the names in a text of settings, sorted. */
export const settingNames = (text: string): string[] => Object.keys(parseEnv(text)).toSorted();

/** Returns a text with a setting added or changed. @throws UsageError `usage` for a value that readers differ about */
export function withSetting(text: string, name: string, value: string): string {
  const line = `${name}=${quoted(name, value)}`;
  const { before, after } = around(text, name);
  return checked(text, [...before, line, ...after], name, value);
}

/** Returns a text without a setting. */
export function withoutSetting(text: string, name: string): string {
  const { before, after } = around(text, name);
  return checked(text, [...before, ...after], name, undefined);
}

/** Quotes a value so that systemd and Node read it alike; undefined where no quotes do that. */
export function quotedAlike(value: string): string | undefined {
  const has = (characters: string): boolean => [...characters].some((character) => value.includes(character));
  if (!REFUSED.test(value) && value.isWellFormed()) {
    if (PLAIN.test(value)) return value;
    if (!has("'")) return `'${value}'`;
    if (!has('"\\')) return `"${value}"`;
    // Quotes in the middle of a value that has none around it are characters like others.
    if (!has("\\#\n") && value === value.trim() && !/^["'`]/.test(value)) return value;
  }
  return undefined;
}

function quoted(name: string, value: string): string {
  const text = quotedAlike(value);
  if (text !== undefined) return text;
  throw usageError("usage", `systemd and Node would read this value of ${name} differently, however it is quoted.`, {
    hint: "It holds control characters, or both kinds of quotes with a backslash, # or line break. Encode it, such as with base64.",
  });
}

/** Splits a text into the lines before and after those of a setting; the last place of several counts. */
function around(text: string, name: string): { before: string[]; after: string[] } {
  const entries = entriesIn(text);
  const last = entries.findLastIndex(({ key }) => key === name);
  const linesOf = (some: readonly SettingEntry[]): string[] =>
    some.filter(({ key }) => key !== name).flatMap(({ lines }) => lines);
  return last === -1
    ? { before: linesOf(entries), after: [] }
    : { before: linesOf(entries.slice(0, last)), after: linesOf(entries.slice(last)) };
}

/** Part of a text of settings: an assignment with all lines of its value, or another line. */
export interface SettingEntry {
  lines: string[];
  /** Name of the setting; undefined for comments and anything else. */
  key: string | undefined;
}

/** Splits a text of settings into its parts. */
export function entriesIn(text: string): SettingEntry[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const entries: SettingEntry[] = [];
  for (let at = 0; at < lines.length; at++) {
    const [, key, mark = ""] = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(["'`]?)/.exec(lines[at]!) ?? [];
    const begin = at;
    if (mark !== "" && !closes(lines[at]!, mark)) {
      const end = lines.findIndex((line, index) => index > begin && line.includes(mark));
      if (end !== -1) at = end;
    }
    entries.push({ lines: lines.slice(begin, at + 1), key });
  }
  return entries;
}

/** Tells whether a quoted value ends on its first line. */
const closes = (line: string, mark: string): boolean => line.indexOf(mark, line.indexOf(mark) + 1) !== -1;

/** Joins lines, and makes sure that nothing but the one setting has changed. @throws UsageError `usage` */
function checked(old: string, lines: readonly string[], name: string, value: string | undefined): string {
  const text = lines.map((line) => `${line}\n`).join("");
  const { [name]: _replaced, ...others } = parseEnv(old);
  const { [name]: found, ...kept } = parseEnv(text);
  const same = JSON.stringify(sorted(others)) === JSON.stringify(sorted(kept));
  if (same && found === value) return text;
  throw usageError("usage", `The file has lines around ${name} that cannot be changed safely.`, {
    hint: "Change it with an editor: one NAME=value on each line, quoted by ' where it holds more than letters and digits.",
  });
}

const sorted = (values: object): [string, unknown][] => Object.entries(values).toSorted(([a], [b]) => (a < b ? -1 : 1));
