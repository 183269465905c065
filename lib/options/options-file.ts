import { existsSync } from "node:fs";
import { usageError } from "../contract/errors.ts";
import { optionsByName } from "./all.ts";
import { fileLayer, type Layer } from "./layers.ts";
import { type Given, keyOf } from "./option.ts";

/** The configuration file that is read when no `--config` is given and it exists. */
const DEFAULT_FILE = "sealift.yaml";

/** Whether YAML holds something that an option may be. */
export const isGiven = (value: unknown): value is Given =>
  typeof value === "string" ||
  typeof value === "number" ||
  typeof value === "boolean" ||
  (Array.isArray(value) && value.every((item) => typeof item === "string"));

/** Keys that a file of options may have: those of every option, and of the files that hold secrets. */
export function knownKeys(): Set<string> {
  const keys = new Set<string>();
  for (const [name, options] of optionsByName()) {
    if (name === "config") continue;
    keys.add(keyOf(name));
    if (options.some(({ fromBytes }) => fromBytes !== undefined)) keys.add(keyOf(`${name}-file`));
  }
  return keys;
}

/**
 * Reads sealift.yaml, or the file given; without either there is nothing to read. @throws UsageError `config_invalid`
 */
export async function optionsFile(given: string | undefined): Promise<Layer | undefined> {
  const path = given ?? (existsSync(DEFAULT_FILE) ? DEFAULT_FILE : undefined);
  if (path === undefined) return undefined;
  const { readYaml } = await import("../support/yaml-file.ts");
  const { value: content, lineOf } = await readYaml(path);
  const value = content ?? {};
  if (typeof value !== "object" || Array.isArray(value))
    throw usageError("config_invalid", `${path} is not valid: it must hold keys and values.`);
  const known = knownKeys();
  const values: Record<string, Given> = {};
  const unknown: string[] = [];
  const malformed: string[] = [];
  for (const [key, item] of Object.entries(value)) {
    if (!known.has(key)) unknown.push(key);
    else if (isGiven(item)) values[key] = item;
    else malformed.push(`${key}: must be a text, a number, true or false, or a list of texts${lineOf([key])}`);
  }
  if (unknown.length === 0 && malformed.length === 0) return fileLayer(values, path);
  const { closestTo } = await import("../support/suggestion.ts");
  const meant = unknown.flatMap((key) => closestTo(key, known) ?? []);
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
