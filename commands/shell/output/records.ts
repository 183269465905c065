import { usageError } from "../../../lib/contract/errors.ts";
import { printableJson } from "../../../lib/support/printable.ts";
import { closestTo } from "../../../lib/support/suggestion.ts";

/** Events as records for other programs: chosen fields, or CSV. */

type Event = Record<string, unknown> & { event: string };

export interface RecordOptions {
  /** Fields of each record, in this order; empty for all. */
  fields: readonly string[];
  csv: boolean;
  /** Fields that a record of the list has, for a command that lists something. */
  listed?: readonly string[] | undefined;
}

/**
 * Formats events as lines. Of a command that lists something, only the list is printed, which may be empty; of any
 * other one, its result.
 */
export class RecordWriter {
  readonly #csv: boolean;
  readonly #listed: readonly string[] | undefined;
  readonly #write: (line: string) => void;
  #columns: readonly string[];
  #records = 0;

  /**
   * @param write takes one line
   * @throws UsageError `usage` for a field that the list does not have
   */
  constructor({ fields, csv, listed }: RecordOptions, write: (line: string) => void) {
    this.#csv = csv;
    this.#listed = listed;
    this.#write = write;
    if (listed !== undefined) requireKnown(fields, listed);
    this.#columns = fields.length === 0 ? (listed ?? []) : fields;
  }

  /** Adds a record. @throws UsageError `usage` for a field that the first record does not have */
  add({ v: _version, event, ...facts }: Event): void {
    if (event === "result" && (this.#records > 0 || this.#listed !== undefined)) return;
    const { status: _status, exit_code: _exit, ...own } = facts;
    const record = event === "result" ? own : facts;
    if (this.#columns.length === 0) this.#columns = Object.keys(record);
    if (this.#records === 0 && this.#listed === undefined) requireKnown(this.#columns, Object.keys(record));
    if (this.#csv && this.#records === 0) this.#titles();
    this.#records++;
    const columns = this.#columns;
    if (this.#csv) this.#write(columns.map((name) => csvCell(valueAt(record, name))).join(","));
    else this.#write(printableJson(Object.fromEntries(columns.map((name) => [name, valueAt(record, name) ?? null]))));
  }

  /** Ends the output: in CSV an empty list has titles, too. */
  close(): void {
    if (this.#csv && this.#records === 0 && this.#listed !== undefined) this.#titles();
  }

  #titles(): void {
    this.#write(this.#columns.map(csvCell).join(","));
  }
}

/** Returns the fields of a record, each named once: the compiler notices a missing one. */
export const fieldsOf = <T>(fields: Record<NameIn<T>, true>): string[] => Object.keys(fields);
type NameIn<T> = T extends unknown ? keyof T : never;

/**
 * Rejects the name of a field that a record does not have; what is below a field may differ from record to record.
 *
 * @throws UsageError `usage`
 */
function requireKnown(columns: readonly string[], known: readonly string[]): void {
  const unknown = columns.filter((name) => !known.includes(name.split(".")[0]!));
  if (unknown.length === 0) return;
  const near = closestTo(unknown[0]!, known);
  throw usageError("usage", `--fields: there is no ${unknown.join(", ")}. A record has ${known.join(", ")}.`, {
    ...(near !== undefined && { hint: `Did you mean ${near}?` }),
  });
}

/** Returns the value of `a` or of `a.b`. */
function valueAt(record: Record<string, unknown>, path: string): unknown {
  let value: unknown = record;
  for (const part of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

/**
 * Formats a cell by RFC 4180: quoted if necessary; anything but a single value as JSON. A spreadsheet must not take a
 * text for a formula.
 */
function csvCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
