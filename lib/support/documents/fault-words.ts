import type * as z from "zod";
import { closestTo } from "../suggestion.ts";

/** Sealift's own words for what a schema rejects; zod's are for programmers. */

type Issue = z.core.$ZodIssue;
type IssueOf<Code extends Issue["code"]> = Extract<Issue, { code: Code }>;

/**
 * Matches a message of zod itself. One that a schema states begins with a small letter: it continues the name of a
 * field.
 */
const OF_ZOD = /^(?:Invalid|Too small|Too big|Unrecognized keys?)\b/;

/** Most values that a message lists. */
const MAX_LISTED = 40;

const KINDS: Readonly<Record<string, string>> = {
  array: "a list",
  bigint: "a whole number",
  boolean: "true or false",
  date: "a time",
  int: "a whole number",
  map: "a mapping",
  null: "null",
  number: "a number",
  object: "a mapping",
  record: "a mapping",
  set: "a list",
  string: "a text",
  tuple: "a list",
};

const FORMATS: Readonly<Record<string, string>> = {
  base64: "base64",
  base64url: "base64url",
  date: "a date such as 2026-01-31",
  datetime: "a time such as 2026-01-31T09:00:00Z",
  email: "an email address",
  json_string: "JSON",
  url: "a URL",
  uuid: "a UUID",
};

/** Facts that make a message more precise, where known. */
interface Known {
  /** Value at the issue's path. */
  value?: unknown;
  /** Keys that a mapping at the issue's path may have. */
  keys?: readonly string[];
}

/** Describes an issue in words that continue the name of a field: `must be a list, not a text`. */
export function faultText(issue: Issue, known: Known = {}): string {
  if (!OF_ZOD.test(issue.message)) return issue.message;
  switch (issue.code) {
    case "invalid_type":
      return typeText(issue);
    case "invalid_value":
      return valuesText(issue.values, known);
    case "unrecognized_keys":
      return keysText(issue.keys, known.keys ?? []);
    case "too_small":
      return issue.origin === "string" && issue.minimum === 1 && issue.exact !== true
        ? "must not be empty"
        : sizeText(issue, issue.minimum, "or more", "more than", "at least");
    case "too_big":
      return sizeText(issue, issue.maximum, "or less", "less than", "at most");
    case "invalid_format":
      return issue.format in FORMATS ? `must be ${FORMATS[issue.format]}` : "is not of the form that it must have";
    case "invalid_union":
      return unionText(issue, known);
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    case "invalid_key":
      return `is not a key that this may have: ${first(issue.issues)}`;
    case "invalid_element":
      return `holds a value that it may not have: ${first(issue.issues)}`;
    default:
      return "is not valid";
  }
}

const first = (issues: readonly Issue[]): string => (issues[0] === undefined ? "not valid" : faultText(issues[0]));

/** Whether a required field is missing. */
const isMissing = ({ code, message }: Issue): boolean =>
  code === "invalid_type" && message.endsWith("received undefined");

function typeText(issue: IssueOf<"invalid_type">): string {
  const kind = KINDS[issue.expected] ?? `of the type ${issue.expected}`;
  if (isMissing(issue)) return `is missing (${kind})`;
  const received = / received (\w+)$/.exec(issue.message)?.[1] ?? "";
  const other = KINDS[received];
  // For a fraction, zod says that it received a number.
  return other === undefined || issue.expected === "int" ? `must be ${kind}` : `must be ${kind}, not ${other}`;
}

function valuesText(values: readonly unknown[], { value }: Known): string {
  const listed = values.slice(0, MAX_LISTED).map((each) => (typeof each === "string" ? each : JSON.stringify(each)));
  const more = values.length > MAX_LISTED ? ", …" : "";
  if (values.length === 1) return `must be ${JSON.stringify(values[0])}`;
  const meant = typeof value === "string" ? closestTo(value, values.map(String)) : undefined;
  return `must be one of ${listed.join(", ")}${more}${meant === undefined ? "" : `; did you mean ${meant}?`}`;
}

function keysText(unknown: readonly string[], known: readonly string[]): string {
  const meant = unknown.flatMap((key) => closestTo(key, known) ?? []);
  const names = unknown.map((key) => JSON.stringify(key)).join(", ");
  const advice = meant.length === 0 ? "" : `; did you mean ${[...new Set(meant)].join(", ")}?`;
  return `unknown key${unknown.length === 1 ? "" : "s"} ${names}${advice}`;
}

function sizeText(
  { origin, inclusive, exact }: { origin: string; inclusive?: boolean; exact?: boolean },
  limit: number | bigint,
  orMore: string,
  moreThan: string,
  atLeast: string,
): string {
  const unit = origin === "string" ? "character" : ["array", "set", "map", "tuple"].includes(origin) ? "item" : "";
  if (unit === "") return inclusive === false ? `must be ${moreThan} ${limit}` : `must be ${limit} ${orMore}`;
  return `must have ${exact === true ? "exactly" : atLeast} ${limit} ${unit}${Number(limit) === 1 ? "" : "s"}`;
}

function unionText(issue: IssueOf<"invalid_union">, known: Known): string {
  const { options } = issue as { options?: readonly unknown[] };
  if (options !== undefined) return valuesText(options, known);
  const branches = issue.errors.flatMap(([branch]) => branch ?? []);
  if (branches.length > 0 && branches.every((branch) => isMissing(branch))) return "is missing";
  // A branch that has examined the value fits it better than one that expects another type.
  const nearest = branches.filter(({ code }) => code !== "invalid_type");
  const texts = (nearest.length > 0 ? nearest : branches).map((branch) => faultText(branch));
  return texts.length === 0 ? "is not valid" : [...new Set(texts)].join(", or ");
}

/** Definition of a schema, as far as needed to find a mapping's keys. */
interface Definition {
  shape?: Record<string, z.ZodType>;
  element?: z.ZodType;
  valueType?: z.ZodType;
  innerType?: z.ZodType;
  in?: z.ZodType;
  options?: readonly z.ZodType[];
}

/** Returns the keys that a mapping at a path may have; none where the schema does not say. */
export function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  const { shape, element, valueType, innerType, options, in: input } = schema.def as Definition;
  const through = innerType ?? input;
  if (through !== undefined) return keysAt(through, path);
  if (options !== undefined) return options.flatMap((option) => keysAt(option, path));
  const [key, ...rest] = path;
  if (key === undefined) return Object.keys(shape ?? {});
  const inside = shape?.[String(key)] ?? element ?? valueType;
  return inside === undefined ? [] : keysAt(inside, rest);
}
