import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { usageError } from "../contract/errors.ts";
import { readYamlFile } from "./yaml-file.ts";

/** The configuration file that is read when no `--config` is given and it exists. */
export const DEFAULT_CONFIG_FILE = "sealift.yaml";

const configFile = z.record(
  z.string().regex(/^[a-z][a-z0-9_]*$/, "must be an option's name with _ for -"),
  z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]),
);

type Value = string | number | boolean | readonly string[];

/** Values of the command line by option name (`hub-url`); undefined where the option was not given. */
export type Flags = Readonly<Record<string, Value | undefined>>;

const environmentName = (option: string): string => `SEALIFT_${option.replaceAll("-", "_").toUpperCase()}`;
const configKey = (option: string): string => option.replaceAll("-", "_");

/**
 * One command's settings: flags beat the environment (`SEALIFT_HUB_URL`) beat the configuration file (`hub_url:`) beat defaults
 * (docs/options.md). Secrets may also be files, standard input or systemd credentials.
 */
export class Settings {
  readonly #flags: Flags;
  readonly #config: Flags;
  readonly #environment: NodeJS.ProcessEnv;
  /** What standard input held, and for which option: a process can read it once, whatever is loaded again. */
  static readonly #stdin: { option?: string; content?: Buffer } = {};

  private constructor(flags: Flags, config: Flags, environment: NodeJS.ProcessEnv) {
    this.#flags = flags;
    this.#config = config;
    this.#environment = environment;
  }

  /**
   * @param known every option that any command has: a key of the file that is none of them is an error
   * @param config what a configuration file held that was read already; no other is read then
   * @throws UsageError `config_invalid`
   */
  static async load(options: {
    flags: Flags;
    configFile?: string | undefined;
    config?: Flags;
    known: ReadonlySet<string>;
    environment?: NodeJS.ProcessEnv;
  }): Promise<Settings> {
    const { flags, known, environment = process.env } = options;
    if (options.config !== undefined) return new Settings(flags, options.config, environment);
    const path = options.configFile ?? (existsSync(DEFAULT_CONFIG_FILE) ? DEFAULT_CONFIG_FILE : undefined);
    const config = path === undefined ? {} : await readYamlFile(path, configFile);
    const unknown = Object.keys(config).filter((key) => {
      const option = key.replaceAll("_", "-");
      return !known.has(option) && !known.has(option.replace(/-file$/, ""));
    });
    if (unknown.length > 0) {
      throw usageError("config_invalid", `${path} has unknown keys: ${unknown.join(", ")}.`, {
        faults: unknown,
        hint: "Keys are the options of the commands, with _ for -, for example hub_url.",
      });
    }
    return new Settings(flags, config, environment);
  }

  /** These settings with some that beat all others, such as those of one target. A secret replaces its other form, too. */
  with(overrides: Flags): Settings {
    const flags: Record<string, Value | undefined> = { ...this.#flags };
    for (const [option, value] of Object.entries(overrides)) {
      if (value === undefined) continue;
      delete flags[option.endsWith("-file") ? option.slice(0, -"-file".length) : `${option}-file`];
      flags[option] = value;
    }
    return new Settings(flags, this.#config, this.#environment);
  }

  #find(option: string): Value | undefined {
    const fromEnvironment = this.#environment[environmentName(option)];
    return (
      this.#flags[option] ?? (fromEnvironment === "" ? undefined : fromEnvironment) ?? this.#config[configKey(option)]
    );
  }

  /** A text, or undefined. */
  text(option: string): string | undefined {
    const value = this.#find(option);
    if (value === undefined) return undefined;
    if (typeof value === "object" || typeof value === "boolean")
      throw usageError("usage", `--${option} takes one value.`);
    return String(value);
  }

  /** @throws UsageError `usage` when it is given nowhere */
  required(option: string): string {
    const value = this.text(option);
    if (value !== undefined && value !== "") return value;
    throw usageError("usage", `--${option} is missing.`, {
      hint: `Give it as a flag, as ${environmentName(option)}, or as ${configKey(option)} in ${DEFAULT_CONFIG_FILE}.`,
    });
  }

  flag(option: string, otherwise = false): boolean {
    const value = this.#find(option);
    if (value === undefined || typeof value === "boolean") return value ?? otherwise;
    const text = String(value);
    if (/^(1|true|yes|on)$/i.test(text)) return true;
    if (/^(0|false|no|off)$/i.test(text)) return false;
    throw usageError("usage", `--${option} is yes or no, not ${JSON.stringify(text)}.`);
  }

  list(option: string): readonly string[] {
    const value = this.#find(option);
    if (value === undefined) return [];
    return typeof value === "object" ? value : String(value).split(",");
  }

  /** @throws UsageError `usage` when it is not one of `choices` */
  choice<T extends string>(option: string, choices: readonly T[], otherwise: T): T {
    const value = this.text(option);
    if (value === undefined) return otherwise;
    const found = choices.find((choice) => choice === value);
    if (found !== undefined) return found;
    throw usageError("usage", `--${option} is one of ${choices.join(", ")}, not ${JSON.stringify(value)}.`);
  }

  /** A whole number within a range. */
  integer(option: string, otherwise: number, { min = 0, max = Number.MAX_SAFE_INTEGER } = {}): number {
    const value = this.text(option);
    if (value === undefined) return otherwise;
    const number = Number(value);
    if (/^\d+$/.test(value) && number >= min && number <= max) return number;
    throw usageError("usage", `--${option} is a whole number from ${min} to ${max}, not ${JSON.stringify(value)}.`);
  }

  /** A size in bytes, as a number or with K, M, G or T (powers of 1024). */
  size(option: string, otherwise: number): number {
    const value = this.text(option);
    if (value === undefined) return otherwise;
    const match = /^(\d+)(?:([KMGT])(?:i?B)?)?$/i.exec(value);
    if (match === null)
      throw usageError("usage", `--${option} is a size such as 500M or 4G, not ${JSON.stringify(value)}.`);
    return Number(match[1]) * 1024 ** (match[2] === undefined ? 0 : "KMGT".indexOf(match[2].toUpperCase()) + 1);
  }

  /** A span of time in milliseconds, from seconds or with ms, s, m, h or d. */
  duration(option: string, otherwiseMs: number): number {
    const value = this.text(option);
    return value === undefined ? otherwiseMs : parseDuration(value, `--${option}`);
  }

  /**
   * A secret from the flag, `--…-file` (`-` is standard input), the environment, a systemd credential of the option's name, or the
   * configuration file. It is trimmed of its final newline.
   *
   * @throws UsageError `credential_unreadable`
   */
  secret(option: string): string | undefined {
    const bytes = this.secretBytes(option);
    return bytes === undefined ? undefined : bytes.toString("utf8").replace(/\r?\n$/, "");
  }

  /** @throws UsageError `usage` when it is given nowhere */
  requiredSecret(option: string): string {
    const value = this.secret(option);
    if (value !== undefined) return value;
    throw usageError("usage", `--${option} is missing.`, {
      hint: `Give it as ${environmentName(option)}, as --${option}-file PATH (- is standard input), or as a systemd credential named ${option}.`,
    });
  }

  /** Like {@link secret}, for keys that may be binary. */
  secretBytes(option: string): Buffer | undefined {
    const given = this.#flags[option];
    if (typeof given === "string") return this.#notEmpty(Buffer.from(given), `--${option}`);
    const flagFile = this.#flags[`${option}-file`];
    if (typeof flagFile === "string") return this.#readSecret(flagFile, `--${option}-file`);
    const fromEnvironment = this.#environment[environmentName(option)];
    if (fromEnvironment) return Buffer.from(fromEnvironment);
    const environmentFile = this.#environment[environmentName(`${option}-file`)];
    if (environmentFile) return this.#readSecret(environmentFile, environmentName(`${option}-file`));
    const credentials = this.#environment.CREDENTIALS_DIRECTORY;
    if (credentials && existsSync(join(credentials, option)))
      return this.#readSecret(join(credentials, option), `the credential ${option}`);
    const config = this.#config[configKey(option)];
    if (typeof config === "string") return this.#notEmpty(Buffer.from(config), configKey(option));
    const configFileValue = this.#config[configKey(`${option}-file`)];
    return typeof configFileValue === "string"
      ? this.#readSecret(configFileValue, configKey(`${option}-file`))
      : undefined;
  }

  #readSecret(path: string, name: string): Buffer {
    try {
      if (path !== "-") return this.#notEmpty(readFileSync(path), name);
      const stdin = Settings.#stdin;
      if (stdin.option !== undefined && stdin.option !== name)
        throw new Error(`standard input is already used by ${stdin.option}`);
      stdin.option = name;
      stdin.content ??= readFileSync(0);
      return this.#notEmpty(stdin.content, name);
    } catch (error) {
      throw usageError("credential_unreadable", `${name} cannot be read: ${(error as Error).message}.`, {
        cause: error,
      });
    }
  }

  #notEmpty(value: Buffer, name: string): Buffer {
    if (value.length === 0) throw usageError("credential_unreadable", `${name} is empty.`);
    return value;
  }
}

/** Milliseconds of "90", "90s", "5m", "2h", "90d", "250ms". @throws UsageError `usage` */
export function parseDuration(text: string, name: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text);
  if (match === null)
    throw usageError("usage", `${name} is a time such as 60, 90s, 5m or 90d, not ${JSON.stringify(text)}.`);
  const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
  return Math.round(Number(match[1]) * units[(match[2] ?? "s") as keyof typeof units]);
}
