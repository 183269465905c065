import type * as z from "zod";
import { printable } from "../printable.ts";
import { faultText, keysAt } from "./fault-words.ts";

/** Faults that are reported of one document, and characters of each: a foreign document may have any number. */
const MAX_FAULTS = 20;
const MAX_FAULT_CHARACTERS = 300;

/** Describes the first faults of a document, cut, with a last line that counts the others. */
export function cutFaults<T>(faults: readonly T[], describe: (fault: T) => string): string[] {
  const told = faults.slice(0, MAX_FAULTS).map((fault) => {
    const text = printable(describe(fault)).trim();
    return text.length > MAX_FAULT_CHARACTERS ? `${text.slice(0, MAX_FAULT_CHARACTERS)}…` : text;
  });
  if (faults.length > MAX_FAULTS) told.push(`and ${faults.length - MAX_FAULTS} more`);
  return told;
}

/** The place of a value in a document. */
export type Path = readonly PropertyKey[];

/** Facts about a document that make its faults easier to find. */
interface Known {
  /** Returns the text to put behind a fault, such as its line. */
  lineOf?: (path: Path) => string;
  /** The document. With it, faults name the items of a list by their `id`: `steps[install].action`. */
  value?: unknown;
  /** The schema that refused the document. With it, unknown keys are compared with those that it has. */
  schema?: z.ZodType;
}

/** The faults of a zod error as `path: message`, cut. */
export function faultsOf(error: z.ZodError, { lineOf = () => "", value, schema }: Known = {}): string[] {
  return cutFaults(error.issues, (issue) => {
    const path = pathText(issue.path, value);
    const keys = issue.code === "unrecognized_keys" && schema !== undefined ? keysAt(schema, issue.path) : [];
    const found = valueAt(value, issue.path);
    const isChoice = issue.code === "invalid_value" || issue.code === "invalid_union";
    const isAbsent = isChoice && value !== undefined && found === undefined;
    const text = faultText(issue, { value: found, keys });
    const message = isAbsent && text !== "is missing" ? `is missing: it ${text}` : text;
    return (path === "" ? message : `${path}: ${message}`) + lineOf(placeOf(issue));
  });
}

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>((inside, key) => (inside as Record<PropertyKey, unknown> | null | undefined)?.[key], value);

const PLAIN_ID = /^[\w-]{1,64}$/;

function pathText(path: Path, document: unknown): string {
  let value = document;
  return path.reduce<string>((text, key) => {
    const isItem = Array.isArray(value);
    value = (value as Record<PropertyKey, unknown> | null | undefined)?.[key];
    const id: unknown = (value as { id?: unknown } | null | undefined)?.id;
    if (isItem && typeof id === "string" && PLAIN_ID.test(id)) return `${text}[${id}]`;
    return text === "" ? String(key) : `${text}.${String(key)}`;
  }, "");
}

/** Returns where an issue is: at the first key that should not be there, or at its path. */
const placeOf = (issue: z.ZodError["issues"][number]): Path =>
  issue.code === "unrecognized_keys" ? [...issue.path, issue.keys[0]!] : issue.path;
