/**
 * An option of the command line, described once. Its flag, variable, key in `sealift.yaml` and `watch.yaml`, help,
 * completion, manual page and schema are generated from this description. The kinds of options are in `kinds.ts`.
 */

import type { Form } from "./forms.ts";

/** Value as it was written: text in a flag or variable, whatever YAML contains in a file. */
export type Given = string | number | boolean | readonly string[];

/** Values of the other options, as far as they are resolved, by their keys in the table. */
export type Known = Readonly<Record<string, unknown>>;

export type OptionKind =
  "text" | "flag" | "choice" | "number" | "size" | "duration" | "secret" | "list" | "path" | "url";

/** Facts that an author states of an option besides its kind. */
export interface OptionDeclaration<T> {
  /** Phrase of at most 60 characters, without the default. */
  help: string;
  /** Name, if it is not the key of the table with dashes: `timeoutMs` is called `timeout`. */
  name?: string;
  /** Flag, if it is not `--NAME`. */
  flag?: string;
  /** Alternative flag, not shown in help. */
  alias?: string;
  /** Name of the value in help: `PATH`, `URL`, `ID`. */
  metavar?: string;
  /** Default value. */
  default?: T;
  /** Default in words, if it depends on the machine or on other options. */
  defaultText?: string;
}

export interface Option<T = unknown> {
  readonly kind: OptionKind;
  /** Name with dashes, without the leading two. */
  readonly name: string;
  /** Flag with its leading two dashes. */
  readonly flag: string;
  /** Alternative flag, not shown in help. */
  readonly alias: string | undefined;
  readonly help: string;
  /** Empty for a flag. */
  readonly metavar: string;
  /** Heading of the option in help. */
  readonly heading: string;
  /** Words that a choice accepts. */
  readonly choices: readonly string[];
  /** Default as help shows it, or undefined. */
  readonly shownDefault: string | undefined;
  readonly default: T | undefined;
  readonly required: boolean;
  /**
   * Whether it must be given, judged by the options that are not secrets. A secret whose condition returns false is not
   * read.
   */
  readonly requiredWhen: ((known: Known) => Need) | undefined;
  /** Advice for when it is missing, in addition to the usual ways of giving it. */
  readonly missingHint: string | undefined;
  /** Whether it is a secret: these have other sources, and are never in `watch.yaml` themselves. */
  readonly secret: boolean;
  /** Whether it is a secret without a flag of its own, only `--NAME-file`. */
  readonly fileOnly: boolean;
  /** Reads the bytes of a secret. */
  readonly fromBytes: ((bytes: Buffer) => T) | undefined;
  /** Schema that a text must fit. */
  readonly form: Form | undefined;
  /**
   * Whether a relative path in `watch.yaml` starts at the folder of the file: always, or only if such a file exists.
   */
  readonly located: "always" | "when-it-exists" | undefined;
  /**
   * Whether it decides where secrets go or come from, which hub is used, or what is trusted or run: a folder's
   * `sealift.yaml` may set it only where that folder is trusted.
   */
  readonly guarded: boolean;
  /** JSON Schema of its value in a YAML file. */
  readonly schema: object;
  /** Reads a value. @throws Error whose message continues "--name …" */
  readonly parse: (given: Given) => T;
}

/** Options by the keys that commands use for them. */
export type OptionTable = Readonly<Record<string, Option>>;

/** Values of a table's options. */
export type Values<T extends OptionTable> = { readonly [K in keyof T]: T[K] extends Option<infer V> ? V : never };

const kebab = (key: string): string => key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Names the options of a group after their keys, and puts them under one heading of the help. */
export function group<const T extends OptionTable>(heading: string, options: T): T {
  return Object.fromEntries(
    Object.entries(options).map(([key, option]) => {
      const name = option.name === "" ? kebab(key) : option.name;
      return [key, { ...option, name, flag: option.flag === "" ? `--${name}` : option.flag, heading }];
    }),
  ) as unknown as T;
}

/** Result of a condition: the option is required, is used if given, or is not used. */
export type Need = boolean | "if given";

/** Returns the option as required. */
export function required<T>(option: Option<T>, missingHint?: string): Option<Exclude<T, undefined>> {
  return { ...option, required: true, missingHint: missingHint ?? option.missingHint } as unknown as Option<
    Exclude<T, undefined>
  >;
}

/** Returns the option as required when `condition` holds. A secret is not read when it returns false. */
export function requiredWhen<T>(
  option: Option<T>,
  condition: (known: Known) => Need,
  missingHint?: string,
): Option<T | undefined> {
  return {
    ...optional(option),
    requiredWhen: condition,
    missingHint: missingHint ?? option.missingHint,
  };
}

/** Returns the option as optional. */
export const optional = <T>(option: Option<T>): Option<T | undefined> => ({
  ...(option as Option<T | undefined>),
  required: false,
  requiredWhen: undefined,
});

/** Returns the option as guarded: a folder's `sealift.yaml` may set it only where that folder is trusted. */
export const guarded = <O extends Option>(option: O): O => ({ ...option, guarded: true });

/** Returns the default of an option, for parts of the program that run without a command line. */
export const defaultOf = <T>(option: Option<T>): T => option.default as T;

/** Returns the variable of an option. */
export const variableOf = (name: string): string => `SEALIFT_${name.replaceAll("-", "_").toUpperCase()}`;
/** Returns the key of an option in a YAML file. */
export const yamlKeyOf = (name: string): string => name.replaceAll("-", "_");
