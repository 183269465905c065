import type * as z from "zod";
import { type SealiftError, usageError } from "../contract/errors.ts";
import { cutFaults, faultsOf, type Path } from "./documents/faults.ts";
import { excessOfYaml, SMALL_YAML, YAML_LIMITS } from "./documents/limits.ts";
import { type Parsed, type ParsedYaml, parseYamlText } from "./documents/parse-yaml.ts";
import { safelyParsed } from "./documents/safe-parse.ts";
import { readFault, readTextFile } from "./files.ts";

/** Makes the error of one kind of document from its message, every fault found, and the best advice. */
export type Fail = (message: string, faults: string[], hint: string) => SealiftError;

const CORRECT = "Correct the file and run the command again.";
const CHECK_PATH = "Check the path.";

const configInvalid: Fail = (message, faults, hint) => usageError("config_invalid", message, { faults, hint });

/** Returns the document if it was parsed without a fault. @throws the error that `fail` makes */
function soundYaml(parsed: Parsed, name: string, fail: Fail): ParsedYaml {
  if ("value" in parsed) return parsed;
  throw fail(`${name} is not valid YAML: ${parsed.faults.join("; ")}`, parsed.faults, CORRECT);
}

function checkLimits(text: string, name: string, fail: Fail): void {
  const excess = excessOfYaml(text);
  if (excess !== undefined) throw fail(`${name} is not valid: ${excess}.`, [excess], CORRECT);
}

/** Finds keys that schemas drop without a word, such as a name that is `__proto__`. */
function droppedKeys(value: unknown, path: Path, lineOf: ParsedYaml["lineOf"]): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    const at = [...path, Array.isArray(value) ? Number(key) : key];
    return key === "__proto__" ? [`${at.join(".")}: is not a key${lineOf(at)}`] : droppedKeys(item, at, lineOf);
  });
}

function checked<T extends z.ZodType>(yaml: ParsedYaml, schema: T, name: string, fail: Fail): z.output<T> {
  // Zod would compile a function for each object, which pays for schemas that are used again and again.
  const parsed = safelyParsed(schema, yaml.value, { jitless: true });
  const dropped = droppedKeys(yaml.value, [], yaml.lineOf);
  if (parsed.success && dropped.length === 0) return parsed.data;
  const others = cutFaults(dropped, (fault) => fault);
  const faults = [...(parsed.success ? [] : faultsOf(parsed.error, { ...yaml, schema })), ...others];
  throw fail(`${name} is not valid: ${faults.join("; ")}`, faults, CORRECT);
}

/**
 * Parses YAML 1.2 against a schema, within limits, on this thread: for documents of the person who runs the command.
 *
 * @param name of the document in messages, for example its path
 * @throws the error of `fail`, once, with all faults and their lines
 */
export function parseYaml<T extends z.ZodType>(
  text: string,
  schema: T,
  name: string,
  fail = configInvalid,
): z.output<T> {
  checkLimits(text, name, fail);
  return checked(soundYaml(parseYamlText(text), name, fail), schema, name, fail);
}

/** Parses a foreign document as {@link parseYaml} does, a large one on a thread with a deadline and a memory limit. */
export async function parseForeignYaml<T extends z.ZodType>(
  text: string,
  schema: T,
  name: string,
  fail = configInvalid,
): Promise<z.output<T>> {
  checkLimits(text, name, fail);
  return checked(soundYaml(await parseForeign(text), name, fail), schema, name, fail);
}

async function parseForeign(text: string): Promise<Parsed> {
  if (excessOfYaml(text, SMALL_YAML) === undefined) return parseYamlText(text);
  const { parseOnThread } = await import("./documents/yaml-thread.ts");
  return parseOnThread(text);
}

async function readText(path: string, fail: Fail): Promise<string> {
  try {
    return await readTextFile(path, YAML_LIMITS.maxBytes);
  } catch (error) {
    const fault = readFault(error);
    throw fail(`${path} cannot be read: ${fault}.`, [fault], CHECK_PATH);
  }
}

/** Reads a YAML file whose content is checked elsewhere, with its text. @throws UsageError `config_invalid` */
export async function readYaml(path: string): Promise<ParsedYaml & { text: string }> {
  const text = await readText(path, configInvalid);
  checkLimits(text, path, configInvalid);
  return { ...soundYaml(parseYamlText(text), path, configInvalid), text };
}

/** Reads and parses a YAML file with {@link parseForeignYaml}. */
export async function readYamlFile<T extends z.ZodType>(
  path: string,
  schema: T,
  fail = configInvalid,
): Promise<z.output<T>> {
  return parseForeignYaml(await readText(path, fail), schema, path, fail);
}
