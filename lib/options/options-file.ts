import { statSync } from "node:fs";
import { join } from "node:path";
import { usageError } from "../contract/errors.ts";
import { fileLayer, type Layer } from "./layers.ts";
import { type Given, yamlKeyOf } from "./option.ts";
import { isTrusted } from "./trusted-folders.ts";

/** Configuration file that is read when no `--config` is given and it exists. */
export const DEFAULT_FILE = "sealift.yaml";

/** Layer of a file of options. */
export interface OptionsFile extends Layer {
  /** Text of the file, as it was read. */
  text: string;
  /** Guarded keys that it sets, with their values. */
  guarded: ReadonlyMap<string, Given>;
  withheld: ReadonlySet<string>;
}

/** Whether YAML holds something that an option may be. */
export const isGiven = (value: unknown): value is Given =>
  typeof value === "string" ||
  typeof value === "number" ||
  typeof value === "boolean" ||
  (Array.isArray(value) && value.every((item) => typeof item === "string"));

/**
 * Returns the keys that a file of options may have, those of every option and of files with secrets, and whether only a
 * trusted folder may set them.
 */
async function knownKeys(): Promise<Map<string, { guarded: boolean }>> {
  // Every feature's options: most runs have no file, and do not need them.
  const { optionsByName } = await import("./all.ts");
  const keys = new Map<string, { guarded: boolean }>();
  for (const [name, options] of optionsByName()) {
    if (name === "config") continue;
    keys.set(yamlKeyOf(name), { guarded: options.some(({ guarded }) => guarded) });
    if (options.some(({ fromBytes }) => fromBytes !== undefined))
      keys.set(yamlKeyOf(`${name}-file`), { guarded: true });
  }
  return keys;
}

/**
 * Reads the given file, or the `sealift.yaml` of a folder; undefined without either. Guarded options in that folder's
 * file count only where the folder is trusted.
 *
 * @param folder default: the current one
 * @throws UsageError `config_invalid`
 */
export async function optionsFile(
  given: string | undefined,
  environment: NodeJS.ProcessEnv = process.env,
  folder = "",
): Promise<OptionsFile | undefined> {
  const path = given ?? regularFile(join(folder, DEFAULT_FILE));
  if (path === undefined) return undefined;
  const { values, text } = await readOptions(path);
  const known = await knownKeys();
  const guarded = new Map(Object.entries(values).filter(([key]) => known.get(key)!.guarded));
  const withheld = new Set<string>();
  const layer = fileLayer(values, path);
  const isFree = given !== undefined || guarded.size === 0 || isTrusted(path, text, environment);
  const get = (name: string): Given | undefined => {
    const key = yamlKeyOf(name);
    if (isFree || !guarded.has(key)) return layer.get(name);
    withheld.add(key);
    return undefined;
  };
  return { ...layer, get, text, guarded, withheld };
}

/** Returns the path of a folder's file, if it is there. @throws UsageError `config_invalid` for a pipe or device */
export function regularFile(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || stats.isFile()) return stats && path;
  // Nobody has named it: reading a pipe that somebody left there would block silently.
  throw usageError("config_invalid", `${path} is not a regular file.`, {
    hint: "Remove it, or name the file of options with --config.",
  });
}

/** Reads a file of options, whatever part of it may count. @throws UsageError `config_invalid` */
async function readOptions(path: string): Promise<{ values: Record<string, Given>; text: string }> {
  const { readYaml } = await import("../support/yaml-file.ts");
  const { value: content, lineOf, text } = await readYaml(path);
  const value = content ?? {};
  if (typeof value !== "object" || Array.isArray(value))
    throw usageError("config_invalid", `${path} is not valid: it must hold keys and values.`);
  const known = await knownKeys();
  const values: Record<string, Given> = {};
  const unknown: string[] = [];
  const malformed: string[] = [];
  for (const [key, item] of Object.entries(value)) {
    if (!known.has(key)) unknown.push(key);
    else if (isGiven(item)) values[key] = item;
    else malformed.push(`${key}: must be a text, a number, true or false, or a list of texts${lineOf([key])}`);
  }
  if (unknown.length === 0 && malformed.length === 0) return { values, text };
  const { closestTo } = await import("../support/suggestion.ts");
  const meant = unknown.flatMap((key) => closestTo(key, known.keys()) ?? []);
  const faults = [...malformed, ...unknown];
  const message =
    unknown.length > 0 ? `has unknown keys: ${unknown.join(", ")}` : `is not valid: ${malformed.join("; ")}`;
  throw usageError("config_invalid", `${path} ${message}.`, {
    faults,
    hint: unknown.includes("targets")
      ? "It is a file of targets, which `sealift watch` alone takes. Here --config is a file of options such as sealift.yaml; name the project root with --project-root."
      : meant.length > 0
        ? `Did you mean ${meant.join(", ")}?`
        : "Keys are the options of the commands, with _ for -, for example hub_url.",
  });
}
