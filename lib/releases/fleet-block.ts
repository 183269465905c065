import { isDeepStrictEqual, parseEnv } from "node:util";
import { usageError } from "../contract/errors.ts";
import { isReservedSetting } from "../contract/settings/reserved-names.ts";
import { entriesIn, quotedAlike, type SettingEntry } from "./settings-text.ts";

/**
 * Block of the fleet's settings at the end of `apps/<id>.env` (docs/settings.md): both launchers, and every
 * other reader of the file, take the last value of a name, and learn nothing new.
 */

const BEGIN = "# >>> settings of the fleet: `sealift settings apply` changes them, this host replaces these lines >>>";
const END = "# <<< settings of the fleet <<<";
const BEGINS = /^\s*# >>> settings of the fleet\b/;
const ENDS = /^\s*# <<< settings of the fleet\b/;

/** Settings by name. */
export type Values = Readonly<Record<string, string>>;

/** Text of settings, in its two parts. */
export interface SplitSettings {
  /** Lines of the host itself. */
  own: string;
  /** Settings of the fleet. */
  fleet: Values;
}

const textOf = (entries: readonly SettingEntry[]): string =>
  entries.flatMap(({ lines }) => lines.map((line) => `${line}\n`)).join("");

/**
 * Splits a text of settings into the host's own lines and the fleet's.
 *
 * @param written settings of the fleet as they were written last. Where one of the block's two marks was removed, only
 *   lines that set exactly these are the fleet's, so that no line of the host's is lost
 */
export function splitSettings(text: string, written: Values = {}): SplitSettings {
  const entries = entriesIn(text);
  const [begin, end] = [BEGINS, ENDS].map((mark) =>
    entries.findIndex(({ lines, key }) => key === undefined && mark.test(lines[0]!)),
  ) as [number, number];
  const isMark = ({ lines, key }: SettingEntry): boolean =>
    key === undefined && (BEGINS.test(lines[0]!) || ENDS.test(lines[0]!));
  if (begin === -1 && end === -1) return { own: text, fleet: {} };
  if (begin !== -1 && end > begin) {
    const inside = entries.slice(begin + 1, end).filter((entry) => !isMark(entry));
    const outside = [...entries.slice(0, begin), ...entries.slice(end + 1)].filter((entry) => !isMark(entry));
    return { own: textOf(outside), fleet: parsed(textOf(inside)) };
  }
  const isOfFleet = (entry: SettingEntry): boolean => {
    if (entry.key === undefined) return false;
    return written[entry.key] !== undefined && parsed(textOf([entry]))[entry.key] === written[entry.key];
  };
  const rest = entries.filter((entry) => !isMark(entry));
  return {
    own: textOf(rest.filter((entry) => !isOfFleet(entry))),
    fleet: parsed(textOf(rest.filter((entry) => isOfFleet(entry)))),
  };
}

const parsed = (text: string): Values => ({ ...parseEnv(text) }) as Record<string, string>;

/** Returns the host's own lines with the block of the fleet's settings behind them; without any, with no block. */
export function withFleet(own: string, fleet: Values): string {
  const lines = Object.entries(fleet)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${quotedAlike(value)!}\n`);
  if (lines.length === 0) return own;
  const before = own.trim() === "" ? "" : own.endsWith("\n") ? own : `${own}\n`;
  return `${before}${BEGIN}\n${lines.join("")}${END}\n`;
}

/**
 * Returns the text of a file of settings as {@link withFleet} does, and makes sure that it is read as it is meant: an
 * own value whose quotation mark nobody has closed would take in lines of the block.
 *
 * @throws UsageError `config_invalid`
 */
export function settingsText(file: string, own: string, fleet: Values): string {
  const text = withFleet(own, fleet);
  if (isDeepStrictEqual(parsed(text), { ...parsed(own), ...fleet })) return text;
  throw usageError("config_invalid", `${file} has a line of this host with a quotation mark that is not closed.`, {
    hint: "It would take in settings of the fleet. Close the mark, or put the whole value between quotation marks.",
  });
}

/** Setting that is not used, with the code of the reason. */
export interface IgnoredSetting {
  /** Such as `web.LOG_LEVEL`. */
  name: string;
  code: "settings_foreign" | "settings_undeclared" | "settings_reserved" | "settings_unreadable";
}

/**
 * Decides which settings of an application count: those that its version reads and that no host reserves.
 *
 * @param declared names of `environment` in its app.yaml; undefined for an application that the target does not install
 */
export function countingSettings(
  app: string,
  given: Values,
  declared: ReadonlySet<string> | undefined,
): { values: Values; ignored: IgnoredSetting[] } {
  const values: Record<string, string> = {};
  const ignored: IgnoredSetting[] = [];
  for (const [name, value] of Object.entries(given)) {
    const code = whyNot(name, value, declared);
    if (code === undefined) values[name] = value;
    else ignored.push({ name: `${app}.${name}`, code });
  }
  return { values, ignored };
}

function whyNot(
  name: string,
  value: string,
  declared: ReadonlySet<string> | undefined,
): IgnoredSetting["code"] | undefined {
  if (declared === undefined) return "settings_foreign";
  if (isReservedSetting(name)) return "settings_reserved";
  if (!declared.has(name)) return "settings_undeclared";
  return quotedAlike(value) === undefined ? "settings_unreadable" : undefined;
}
