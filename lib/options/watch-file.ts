import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { usageError } from "../contract/errors.ts";
import { closestTo } from "../support/suggestion.ts";
import { readYaml } from "../support/yaml-file.ts";
import { type Given, type Option, yamlKeyOf } from "./option.ts";
import { isGiven } from "./options-file.ts";
import { targetOptions } from "./watch.ts";

/** Options by their keys in `watch.yaml`. */
export type WatchOptions = Readonly<Record<string, Given>>;

export interface WatchEntry {
  /** `plugin:SLUG`, `service:SLUG` or `project:ID`. */
  target: string;
  options: WatchOptions;
}

/** Content of a watch.yaml. */
export interface WatchFile {
  targets: readonly WatchEntry[];
  /** Options that the targets share. */
  shared: WatchOptions;
  /** Unknown keys: faults that leave the rest readable, so that all faults can be reported together. */
  unknownKeys: readonly string[];
}

export const TARGET_PATTERN = "^(plugin|service|project):[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$";
export const MAX_TARGETS = 1000;

/** Returns the options by their keys in `watch.yaml`: secrets are in files of their own, never here. */
export function watchKeys(): Map<string, Option> {
  const keys = new Map<string, Option>();
  for (const option of [...Object.values(targetOptions.project), ...Object.values(targetOptions.marketplace)]) {
    if (!option.secret) keys.set(yamlKeyOf(option.name), option);
    else if (option.fromBytes !== undefined) keys.set(yamlKeyOf(`${option.name}-file`), option);
  }
  return keys;
}

/** Returns the line of a path. */
type Lines = (path: readonly PropertyKey[]) => string;

/**
 * Reads watch.yaml; relative paths in it start at its folder.
 *
 * @throws UsageError `config_invalid` with every fault but unknown keys
 */
export async function readWatchFile(file: string): Promise<WatchFile> {
  const keys = watchKeys();
  const folder = dirname(resolve(file));
  const unknownKeys: string[] = [];
  const faults: string[] = [];

  const optionsOf = (holder: object, path: readonly PropertyKey[], lineOf: Lines): WatchOptions => {
    const place = path.map((part) => `${String(part)}.`).join("");
    const found: Record<string, Given> = {};
    const unknown: string[] = [];
    for (const [key, value] of Object.entries(holder)) {
      const option = keys.get(key);
      if (option === undefined) unknown.push(key);
      else
        try {
          found[key] = valueOf(option, value, folder);
        } catch (error) {
          faults.push(`${place}${key}: ${(error as Error).message}${lineOf([...path, key])}`);
        }
    }
    if (unknown.length > 0) {
      const meant = unknown.flatMap((key) => closestTo(key, keys.keys()) ?? []);
      const advice = meant.length === 0 ? "" : `; did you mean ${meant.join(", ")}?`;
      const names = unknown.map((key) => JSON.stringify(key)).join(", ");
      unknownKeys.push(
        `${place === "" ? "" : `${place.slice(0, -1)}: `}unknown key${unknown.length === 1 ? "" : "s"} ${names}${lineOf([...path, unknown[0]!])}${advice}`,
      );
    }
    return found;
  };

  const { value: content, lineOf } = await readYaml(file);
  if (!isMap(content)) throw invalid(file, ["it must hold targets, and the options that they share"]);
  const { targets, ...rest } = content;
  const shared = optionsOf(rest, [], lineOf);
  if (!Array.isArray(targets) || targets.length === 0 || targets.length > MAX_TARGETS)
    throw invalid(file, [...faults, `targets: must be a list of 1 to ${MAX_TARGETS} targets`]);
  const entries = targets.map((entry: unknown, index): WatchEntry => {
    if (!isMap(entry)) {
      faults.push(`targets.${index}: must have a target and its options`);
      return { target: "", options: {} };
    }
    const { target, ...own } = entry;
    if (typeof target !== "string" || !new RegExp(TARGET_PATTERN).test(target))
      faults.push(
        `targets.${index}.target: must be plugin:SLUG, service:SLUG or project:ID${lineOf(["targets", index])}`,
      );
    return { target: String(target), options: optionsOf(own, ["targets", index], lineOf) };
  });
  if (faults.length > 0) throw invalid(file, [...faults, ...unknownKeys]);
  return { targets: entries, shared, unknownKeys: unknownKeys.map((fault) => `${file}: ${fault}`) };
}

const invalid = (file: string, faults: string[]) =>
  usageError("config_invalid", `${file} is not valid: ${faults.join("; ")}`, {
    faults,
    hint: "`sealift watch init TARGET` writes one that is ready to run.",
  });

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Converts a value to its form on the command line. @throws Error that says what it must be */
function valueOf(option: Option, value: unknown, folder: string): Given {
  if (!isGiven(value)) throw new Error("must be a text, a number, true or false");
  const isPath = option.located !== undefined || option.fromBytes !== undefined;
  if (isPath && value === "-") throw new Error("must be a file: standard input cannot be read again");
  if (option.fromBytes === undefined) option.parse(value);
  const locate = (text: string): string => {
    const path = resolve(folder, text);
    return option.located === "when-it-exists" && !existsSync(path) ? text : path;
  };
  if (!isPath || typeof value === "number" || typeof value === "boolean") return value;
  return typeof value === "string" ? locate(value) : value.map(locate);
}
