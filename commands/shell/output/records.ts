import { usageError } from "../../../lib/contract/errors.ts";
import { closestTo } from "../../../lib/support/suggestion.ts";

/** Events as records for other programs: chosen fields, or CSV. */

type Event = Record<string, unknown> & { event: string };

export interface RecordOptions {
  /** The fields of each record, in this order; empty for all. */
  fields: readonly string[];
  csv: boolean;
}

/**
 * Returns a function that makes lines of events. Of a command that lists something only the list is printed; of any
 * other one its result.
 *
 * @param write takes one line
 */
export function recordWriter({ fields, csv }: RecordOptions, write: (line: string) => void): (event: Event) => void {
  let columns = fields;
  let records = 0;
  return ({ v: _version, event, ...facts }) => {
    if (event === "result" && records > 0) return;
    const { status: _status, exit_code: _exit, ...own } = facts;
    const record = event === "result" ? own : facts;
    if (columns.length === 0) columns = Object.keys(record);
    if (records === 0) requireKnown(columns, Object.keys(record));
    if (csv && records === 0) write(columns.map(csvCell).join(","));
    records++;
    if (csv) write(columns.map((name) => csvCell(valueAt(record, name))).join(","));
    else write(JSON.stringify(Object.fromEntries(columns.map((name) => [name, valueAt(record, name) ?? null]))));
  };
}

/**
 * Refuses the name of a field that a record does not have; what is below a field may differ from record to record.
 *
 * @throws UsageError `usage`
 */
export function requireKnown(columns: readonly string[], known: readonly string[]): void {
  const unknown = columns.filter((name) => !known.includes(name.split(".")[0]!));
  if (unknown.length === 0) return;
  const near = closestTo(unknown[0]!, known);
  throw usageError("usage", `--fields: there is no ${unknown.join(", ")}. A record has ${known.join(", ")}.`, {
    ...(near !== undefined && { hint: `Did you mean ${near}?` }),
  });
}

/** The value of `a` or of `a.b`. */
function valueAt(record: Record<string, unknown>, path: string): unknown {
  let value: unknown = record;
  for (const part of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

/**
 * RFC 4180: quoted where it has to be; what is not a single value is JSON. A spreadsheet must not take a text for a
 * formula.
 */
function csvCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
