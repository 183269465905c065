import type * as z from "zod";
import { printable } from "../printable.ts";
import { faultText, keysAt } from "./fault-words.ts";

/**
 * Most faults reported of one document; the next constant limits the characters of each. Foreign documents may have any
 * number.
 */
const MAX_FAULTS = 20;
const MAX_FAULT_CHARACTERS = 300;

/** Describes the first faults of a document, shortened, with a last line that counts the others. */
export function cutFaults<T>(faults: readonly T[], describe: (fault: T) => string): string[] {
  const shown = faults.slice(0, MAX_FAULTS).map((fault) => {
    const text = printable(describe(fault)).trim();
    return text.length > MAX_FAULT_CHARACTERS ? `${text.slice(0, MAX_FAULT_CHARACTERS)}…` : text;
  });
  if (faults.length > MAX_FAULTS) shown.push(`and ${faults.length - MAX_FAULTS} more`);
  return shown;
}

/** Place of a value in a document. */
export type Path = readonly PropertyKey[];

/** Facts about a document that make its faults easier to find. */
interface Known {
  /** Returns a text to append to a fault, such as its line. */
  lineOf?: (path: Path) => string;
  /** Document. With it, faults name the items of a list by their `id`: `steps[install].action`. */
  value?: unknown;
  /** Schema that rejected the document. With it, unknown keys are compared with known ones. */
  schema?: z.ZodType;
}

/** Formats the faults of a zod error as `path: message`, shortened. */
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

/** Returns the place of an issue: the first key that should not be there, or its path. */
const placeOf = (issue: z.ZodError["issues"][number]): Path =>
  issue.code === "unrecognized_keys" ? [...issue.path, issue.keys[0]!] : issue.path;
