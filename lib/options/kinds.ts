import { durationText, parseDuration } from "./durations.ts";
import type { Form } from "./forms.ts";
import type { Given, Option, OptionDeclaration, OptionKind } from "./option.ts";
import { parseSize, SIZE_PATTERN, sizeText } from "./sizes.ts";

/** Kinds of options: how each is written, read, and shown. */

const quoted = (given: Given): string => JSON.stringify(given);

/** Returns a single value as text. @throws Error for a list, or for yes or no */
function textOf(given: Given): string {
  if (typeof given === "object" || typeof given === "boolean") throw new Error(`takes one value, not ${quoted(given)}`);
  return String(given);
}

/** Creates an option, with defaults for every fact that its author omits. */
export function option<T>(
  kind: OptionKind,
  facts: OptionDeclaration<T>,
  own: Pick<Option<T>, "schema" | "parse"> & Partial<Option<T>>,
) {
  const shown = facts.default === undefined ? undefined : String(facts.default);
  return {
    kind,
    name: facts.name ?? "",
    flag: facts.flag ?? "",
    alias: facts.alias,
    help: facts.help,
    heading: "",
    choices: [],
    default: facts.default,
    required: false,
    requiredWhen: undefined,
    missingHint: undefined,
    secret: false,
    fileOnly: false,
    fromBytes: undefined,
    form: undefined,
    located: undefined,
    guarded: false,
    ...own,
    metavar: facts.metavar ?? own.metavar ?? "TEXT",
    shownDefault: facts.defaultText ?? own.shownDefault ?? shown,
  } satisfies Option<T>;
}

/** `T`, or undefined unless there is a default. */
type OptionOf<T, F> = F extends { default: NonNullable<unknown> } ? Option<T> : Option<T | undefined>;

/** Schema of a text that is not empty. */
export const TEXT_SCHEMA = { type: "string", minLength: 1 };

/** Returns a single value as text. @throws Error for an empty one, a list, or yes or no */
export function nonEmpty(given: Given): string {
  const value = textOf(given);
  if (value === "") throw new Error("is empty");
  return value;
}

/** Creates an option of any text, or with `form` of one that fits a schema. */
export function text<const F extends OptionDeclaration<string> & { form?: Form }>(facts: F): OptionOf<string, F> {
  const own = { schema: { anyOf: [TEXT_SCHEMA, { type: "number" }] }, parse: nonEmpty, form: facts.form };
  return option<string>("text", facts, own);
}

/** Creates an option of a text that `parse` reads; its default is a text, too. */
export function parsed<T, const F extends OptionDeclaration<string> = OptionDeclaration<string>>(
  facts: F,
  parse: (text: string) => T,
): OptionOf<T, F> {
  const { default: otherwise, ...rest } = facts;
  const own = {
    schema: { anyOf: [TEXT_SCHEMA, { type: "number" }] },
    parse: (given: Given): T => parse(textOf(given)),
    shownDefault: otherwise,
    ...(otherwise !== undefined && { default: parse(otherwise) }),
  };
  return option<T>("text", rest as OptionDeclaration<T>, own);
}

/** Creates an option of yes or no: `--name` and `--no-name`. */
export function flag(facts: OptionDeclaration<boolean>): Option<boolean> {
  const own = {
    metavar: "",
    default: facts.default ?? false,
    shownDefault: undefined,
    schema: { type: "boolean" },
    parse: (given: Given): boolean => {
      if (typeof given === "boolean") return given;
      const word = textOf(given);
      if (/^(1|true|yes|on)$/i.test(word)) return true;
      if (/^(0|false|no|off)$/i.test(word)) return false;
      throw new Error(`is yes or no, not ${quoted(word)}`);
    },
  };
  return { ...option<boolean>("flag", facts, own), metavar: "", shownDefault: undefined };
}

/** Creates an option of one word out of several. */
export function choice<const W extends string, const F extends OptionDeclaration<W>>(
  choices: readonly W[],
  facts: F & OptionDeclaration<W>,
): OptionOf<W, F> {
  const own = {
    choices,
    metavar: choices.length <= 3 ? choices.join("|") : "WORD",
    schema: { type: "string", enum: choices },
    parse: (given: Given): W => {
      const found = choices.find((word) => word === given);
      if (found === undefined) throw new Error(`is one of ${choices.join(", ")}, not ${quoted(given)}`);
      return found;
    },
  };
  return option<W>("choice", facts, own);
}

/** Creates an option of a whole number within a range. */
export function whole<const F extends OptionDeclaration<number> & { min?: number; max?: number }>(
  facts: F,
): OptionOf<number, F> {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = facts;
  const range = max === Number.MAX_SAFE_INTEGER ? `of ${min} or more` : `from ${min} to ${max}`;
  const own = {
    metavar: "NUMBER",
    schema: { type: "integer", minimum: min, ...(max !== Number.MAX_SAFE_INTEGER && { maximum: max }) },
    parse: (given: Given): number => {
      const written = textOf(given);
      const number = Number(written);
      if (/^\d+$/.test(written) && number >= min && number <= max) return number;
      throw new Error(`is a whole number ${range}, not ${quoted(given)}`);
    },
  };
  return option<number>("number", facts, own);
}

/** Creates an option of a size in bytes. */
export function size<const F extends OptionDeclaration<number>>(facts: F): OptionOf<number, F> {
  const own = {
    metavar: "SIZE",
    ...(facts.default !== undefined && { shownDefault: sizeText(facts.default) }),
    schema: {
      anyOf: [
        { type: "integer", minimum: 0 },
        { type: "string", pattern: `^${SIZE_PATTERN}$` },
      ],
    },
    parse: (given: Given): number => {
      const bytes = parseSize(textOf(given));
      if (bytes === undefined) throw new Error(`is a size such as 500M or 4G, not ${quoted(given)}`);
      return bytes;
    },
  };
  return option<number>("size", facts, own);
}

/** Creates an option of a rate in bytes a second, written as a size, with or without `/s`. */
export function rate<const F extends OptionDeclaration<number> & { min?: number }>(facts: F): OptionOf<number, F> {
  const { min = 0 } = facts;
  const own = {
    metavar: "RATE",
    ...(facts.default !== undefined && { shownDefault: sizeText(facts.default) }),
    schema: {
      anyOf: [
        { type: "integer", minimum: min },
        { type: "string", pattern: `^${SIZE_PATTERN}(?:/s)?$` },
      ],
    },
    parse: (given: Given): number => {
      const bytes = parseSize(textOf(given).replace(/\/s$/, ""));
      if (bytes !== undefined && bytes >= min) return bytes;
      const least = min === 0 ? "" : ` of ${sizeText(min)} or more`;
      throw new Error(`is a rate${least} in bytes a second such as 200K or 200KiB/s, not ${quoted(given)}`);
    },
  };
  return option<number>("size", facts, own);
}

/**
 * Creates an option of a duration in milliseconds, written in seconds or with ms, s, m, h or d. One that is usually of
 * hours or days needs a unit outside of files: nobody means 30 s by `--expires 30`.
 */
export function duration<
  const F extends OptionDeclaration<number> & { minMs?: number; maxMs?: number; needsUnit?: boolean },
>(facts: F): OptionOf<number, F> {
  const { minMs = 0, maxMs = Infinity, needsUnit = false } = facts;
  const unit = "(?:ms|s|m|h|d)";
  const own = {
    metavar: "DURATION",
    ...(facts.default !== undefined && { shownDefault: durationText(facts.default) }),
    schema: {
      anyOf: [
        { type: "number", minimum: minMs / 1000, ...(maxMs < Infinity && { maximum: maxMs / 1000 }) },
        { type: "string", pattern: needsUnit ? `^(?:0|\\d+(?:\\.\\d+)?${unit})$` : `^\\d+(?:\\.\\d+)?${unit}?$` },
      ],
    },
    parse: (given: Given): number => {
      const ms = parseDuration(typeof given === "number" ? `${given}s` : textOf(given), needsUnit);
      if (ms < minMs) throw new Error(`must be ${durationText(minMs)} or longer, not ${quoted(given)}`);
      if (ms > maxMs) throw new Error(`must be ${durationText(maxMs)} at most, not ${quoted(given)}`);
      return ms;
    },
  };
  return option<number>("duration", facts, own);
}

/** Creates an option of a file or folder. With `orText`, a value that names no file is taken as text. */
export function path<const F extends OptionDeclaration<string> & { orText?: boolean }>(facts: F): OptionOf<string, F> {
  const own = {
    metavar: "PATH",
    schema: TEXT_SCHEMA,
    parse: nonEmpty,
    located: facts.orText === true ? ("when-it-exists" as const) : ("always" as const),
  };
  return option<string>("path", facts, own);
}

/** Creates an option of an http or https URL, without credentials. */
export function url<const F extends OptionDeclaration<string>>(facts: F): OptionOf<string, F> {
  const own = {
    metavar: "URL",
    schema: TEXT_SCHEMA,
    parse: (given: Given): string => {
      const written = nonEmpty(given);
      const found = URL.parse(written);
      if (found === null || !/^https?:$/.test(found.protocol))
        throw new Error(`is an http or https URL, not ${quoted(given)}`);
      if (found.username !== "" || found.password !== "")
        throw new Error("holds a user name or password; secrets have options of their own");
      return written;
    },
  };
  return option<string>("url", facts, own);
}

/**
 * Creates an option of several values: repeated flags, a comma-separated variable, or a list in a file.
 *
 * @param facts with `commas`, one flag may hold several values, too
 */
export function list<T>(
  facts: Omit<OptionDeclaration<never>, "default"> & {
    secret?: boolean;
    choices?: readonly string[];
    commas?: boolean;
  },
  each: (text: string) => T,
): Option<readonly T[]> {
  const item = facts.choices === undefined ? TEXT_SCHEMA : { type: "string", enum: facts.choices };
  return {
    ...option<readonly T[]>("list", facts, {
      schema: { anyOf: [TEXT_SCHEMA, { type: "array", items: item }] },
      parse: (given) => {
        const items = typeof given === "object" ? given : textOf(given).split(",");
        return (facts.commas === true ? items.flatMap((item) => item.split(",")) : items).map((item) => each(item));
      },
      secret: facts.secret ?? false,
      choices: facts.choices ?? [],
    }),
    default: [],
    shownDefault: facts.defaultText,
  };
}

/** Creates an option of several files, undefined without any. With `orText`, as {@link path} does. */
export const several = (
  facts: Omit<OptionDeclaration<never>, "default"> & { orText?: boolean },
): Option<readonly string[] | undefined> => ({
  ...list(facts, nonEmpty),
  default: undefined,
  located: facts.orText === true ? "when-it-exists" : "always",
});
