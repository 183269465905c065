import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Given, type OptionTable, variableOf, yamlKeyOf } from "./option.ts";

/** Source of options. Of several layers the first that has an option counts. */
export interface Layer {
  /** Returns the value of an option; for `NAME-file`, the path of a file with the secret NAME. */
  get(name: string): Given | undefined;
  /** Returns the name of a value of this layer in messages. */
  label(name: string): string;
  /** Only hub that an API key of this layer may be sent to; undefined for any. */
  readonly keyHub?: string | undefined;
  /** Whether it counts right after the flags: a variable of the shell says nothing about its subject. */
  readonly beatsEnvironment?: boolean;
  /** Keys that were requested and not given, because the folder of the file is not trusted. */
  readonly withheld?: ReadonlySet<string>;
}

/** Whether two URLs name one hub. */
export const isSameHub = (one: string, other: string): boolean => one.replace(/\/+$/, "") === other.replace(/\/+$/, "");

/** Variable that names the only hub for an API key of the environment. */
export const KEY_HUB_VARIABLE = "SEALIFT_API_KEY_HUB";

const keyHubOf = (environment: NodeJS.ProcessEnv): string | undefined => environment[KEY_HUB_VARIABLE] || undefined;

/** Layer of the command line's values, by the option's name. @param table options of the command, for their flags */
export const flagsLayer = (flags: Readonly<Record<string, Given | undefined>>, table: OptionTable = {}): Layer => ({
  get: (name) => flags[name],
  label: (name) => Object.values(table).find((option) => option.name === name)?.flag ?? `--${name}`,
});

/** Layer of variables such as `SEALIFT_HUB_URL`; an empty variable does not count. */
export const environmentLayer = (environment: NodeJS.ProcessEnv): Layer => ({
  get: (name) => environment[variableOf(name)] || undefined,
  label: variableOf,
  keyHub: keyHubOf(environment),
});

/** Layer of credentials that systemd provides as files of the option's name. */
export const credentialsLayer = (environment: NodeJS.ProcessEnv): Layer => ({
  get(name) {
    const { CREDENTIALS_DIRECTORY: folder } = environment;
    if (!folder || !name.endsWith("-file")) return undefined;
    const path = join(folder, name.slice(0, -"-file".length));
    return existsSync(path) ? path : undefined;
  },
  label: (name) => `the credential ${name.replace(/-file$/, "")}`,
  keyHub: keyHubOf(environment),
});

/** Layer of a YAML file's values, by their keys. */
export const fileLayer = (values: Readonly<Record<string, Given>>, file: string): Layer => ({
  get: (name) => values[yamlKeyOf(name)],
  label: (name) => `${yamlKeyOf(name)} in ${file}`,
});
