import { readFile } from "node:fs/promises";
import { isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import type * as z from "zod";
import { type SealiftError, usageError } from "../contract/errors.ts";

/** Makes the error of one kind of document, given its message and every fault found. */
type Fail = (message: string, faults: string[]) => SealiftError;

const configInvalid: Fail = (message, faults) => usageError("config_invalid", message, { faults });

/** Every fault of a zod error as `path: message`. */
export function faultsOf(error: z.ZodError): string[] {
  return error.issues.map((issue) => {
    const path = issue.path.map(String).join(".");
    return path === "" ? issue.message : `${path}: ${issue.message}`;
  });
}

/** A YAML document as values, and where they stand. */
interface Parsed {
  value: unknown;
  /** ` (line N)` of the value at a path, or of what holds it; empty when nothing does. */
  lineOf: (path: readonly PropertyKey[]) => string;
}

/** Parses YAML 1.2. Aliases are limited (no expansion bombs), duplicate keys and unknown tags are faults. */
function parseValue(text: string, name: string, fail: Fail): Parsed {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, version: "1.2", schema: "core" });
  const syntax = [...document.errors, ...document.warnings].map((error) => {
    const { line, col } = lines.linePos(error.pos[0]);
    return `line ${line}, column ${col}: ${error.message}`;
  });
  if (syntax.length > 0) throw fail(`${name} is not valid YAML: ${syntax.join("; ")}`, syntax);
  const lineOf = (path: readonly PropertyKey[]): string => {
    const offset = offsetOf(document.contents, path);
    return offset === undefined ? "" : ` (line ${lines.linePos(offset).line})`;
  };
  try {
    return { value: document.toJS({ maxAliasCount: 100 }), lineOf };
  } catch (error) {
    const fault = (error as Error).message;
    throw fail(`${name} is not valid YAML: ${fault}`, [fault]);
  }
}

/** Returns where the key or item at a path begins, or its nearest parent that exists. */
function offsetOf(node: unknown, path: readonly PropertyKey[]): number | undefined {
  const [first, ...rest] = path;
  if (first !== undefined && isMap(node)) {
    const pair = node.items.find(({ key }) => isScalar(key) && key.value === first);
    if (pair !== undefined) {
      const at = isScalar(pair.key) ? pair.key.range?.[0] : undefined;
      return rest.length === 0 ? at : (offsetOf(pair.value, rest) ?? at);
    }
  } else if (first !== undefined && isSeq(node)) {
    const item = node.items[Number(first)];
    if (item !== undefined) return offsetOf(item, rest);
  }
  return isNode(node) ? node.range?.[0] : undefined;
}

/** Returns the place of an issue: the first key that should not be there, or its path. */
const placeOf = (issue: z.ZodError["issues"][number]): readonly PropertyKey[] =>
  issue.code === "unrecognized_keys" ? [...issue.path, issue.keys[0]!] : issue.path;

/**
 * Parses YAML against a schema.
 *
 * @param name how messages call the document, for example its path
 * @throws what `fail` makes, once, with every fault and its line
 */
export function parseYaml<T extends z.ZodType>(
  text: string,
  schema: T,
  name: string,
  fail = configInvalid,
): z.output<T> {
  const { value, lineOf } = parseValue(text, name, fail);
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const faults = faultsOf(parsed.error).map((fault, index) => fault + lineOf(placeOf(parsed.error.issues[index]!)));
  throw fail(`${name} is not valid: ${faults.join("; ")}`, faults);
}

/** The text of a YAML file of at most 1 MiB. @throws what `fail` makes */
async function readText(path: string, fail: Fail): Promise<string> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    const fault = (error as Error).message;
    throw fail(`${path} cannot be read: ${fault}`, [fault]);
  }
  if (text.length > 1024 * 1024) throw fail(`${path} is larger than 1 MiB.`, ["too large"]);
  return text;
}

/** Reads a YAML file (at most 1 MiB) whose content is checked elsewhere. @throws UsageError `config_invalid` */
export async function readYaml(path: string): Promise<Parsed> {
  return parseValue(await readText(path, configInvalid), path, configInvalid);
}

/** Reads and parses a YAML file (at most 1 MiB) with {@link parseYaml}. */
export async function readYamlFile<T extends z.ZodType>(
  path: string,
  schema: T,
  fail = configInvalid,
): Promise<z.output<T>> {
  return parseYaml(await readText(path, fail), schema, path, fail);
}
