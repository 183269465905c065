/**
 * An option of the command line, described once. Its flag, variable, key in `sealift.yaml` and `watch.yaml`, help,
 * completion, manual page and schema all come from this description. The kinds of options are in `kinds.ts`.
 */

import type { Form } from "./forms.ts";

/** A value as it was written: text in a flag or variable, whatever YAML reads in a file. */
export type Given = string | number | boolean | readonly string[];

/** The other options, as far as they are known when one is resolved: their values by their keys in the table. */
export type Known = Readonly<Record<string, unknown>>;

export type OptionKind =
  "text" | "flag" | "choice" | "number" | "size" | "duration" | "secret" | "list" | "path" | "url";

/** The facts that an author writes of an option beside its kind. */
export interface OptionDeclaration<T> {
  /** A phrase of at most 60 characters, without the default. */
  help: string;
  /** The name, when it is not the key of the table with dashes: `timeoutMs` is called `timeout`. */
  name?: string;
  /** The flag, when it is not `--NAME`. */
  flag?: string;
  /** Another flag that does the same, which help leaves out. */
  alias?: string;
  /** The name of the value in help: `PATH`, `URL`, `ID`. */
  metavar?: string;
  /** The value when none is given. */
  default?: T;
  /** The default in words, when it depends on the machine or on other options. */
  defaultText?: string;
}

export interface Option<T = unknown> {
  readonly kind: OptionKind;
  /** Name with dashes, without the leading two. */
  readonly name: string;
  /** Flag with its leading two dashes. */
  readonly flag: string;
  /** Another flag that does the same, which help leaves out. */
  readonly alias: string | undefined;
  readonly help: string;
  /** Empty for a flag. */
  readonly metavar: string;
  /** The heading in help that the option stands under. */
  readonly heading: string;
  /** The words that it takes, of a choice. */
  readonly choices: readonly string[];
  /** The default as help shows it, or undefined. */
  readonly shownDefault: string | undefined;
  readonly default: T | undefined;
  readonly required: boolean;
  /**
   * Whether it must be given, judged by the options that are no secrets. A secret whose condition answers false is not
   * read.
   */
  readonly requiredWhen: ((known: Known) => Need) | undefined;
  /** Advice for when it is missing, beside the usual ways of giving it. */
  readonly missingHint: string | undefined;
  /** Secrets have other sources, and never stand in `watch.yaml` themselves. */
  readonly secret: boolean;
  /** A secret that has no flag of its own, only `--NAME-file`. */
  readonly fileOnly: boolean;
  /** Reads the bytes of a secret. */
  readonly fromBytes: ((bytes: Buffer) => T) | undefined;
  /** The schema that a text must fit. */
  readonly form: Form | undefined;
  /**
   * Whether a relative path in `watch.yaml` starts at the folder of the file: always, or only if such a file exists.
   */
  readonly located: "always" | "when-it-exists" | undefined;
  /**
   * Whether it says where secrets go or come from, which hub is asked, or what is trusted or run: the `sealift.yaml` of
   * a folder gives it only where that folder is trusted.
   */
  readonly guarded: boolean;
  /** The JSON Schema of its value in a YAML file. */
  readonly schema: object;
  /** Reads a value. @throws Error whose message continues "--name …" */
  readonly parse: (given: Given) => T;
}

/** Options by the keys that commands know them by. */
export type OptionTable = Readonly<Record<string, Option>>;

/** The values of a table's options. */
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

/** Result of a condition: the option is required, is useful where given, or has no use. */
type Need = boolean | "if given";

/** The option, which must be given. */
export function required<T>(option: Option<T>, missingHint?: string): Option<Exclude<T, undefined>> {
  return { ...option, required: true, missingHint: missingHint ?? option.missingHint } as unknown as Option<
    Exclude<T, undefined>
  >;
}

/** The option, which must be given when `condition` holds. A secret is not read when the answer is false. */
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

/** The option, which may be missing. */
export const optional = <T>(option: Option<T>): Option<T | undefined> => ({
  ...(option as Option<T | undefined>),
  required: false,
  requiredWhen: undefined,
});

/** The option, which the `sealift.yaml` of a folder gives only where that folder is trusted. */
export const guarded = <O extends Option>(option: O): O => ({ ...option, guarded: true });

/** The default of an option that has one, for the parts of the program that run without a command line. */
export const defaultOf = <T>(option: Option<T>): T => option.default as T;

/** The variable of an option. */
export const variableOf = (name: string): string => `SEALIFT_${name.replaceAll("-", "_").toUpperCase()}`;
/** The key of an option in a YAML file. */
export const keyOf = (name: string): string => name.replaceAll("-", "_");
