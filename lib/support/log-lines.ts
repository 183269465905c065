import { clock, offset } from "./local-time.ts";
import { printable, printableLines } from "./printable.ts";

/** The names of pino's levels, padded to one width. */
const LEVELS: Readonly<Record<number, string>> = {
  10: "trace",
  20: "debug",
  30: "info ",
  40: "warn ",
  50: "error",
  60: "fatal",
};

/**
 * Returns a log record as a person reads it on a terminal: time, level and message, then the other fields as
 * `key=value`, and the stack of an error below.
 *
 * @param line one JSON record; anything else is returned as it is, without what a terminal would obey
 */
export function readableLog(line: string): string {
  let record: Record<string, unknown>;
  try {
    record = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return printableLines(line);
  }
  const { level, time, msg = "", name: _name, err, ...fields } = record;
  const at = Date.parse(String(time)) || 0;
  const { message, stack } = (err ?? {}) as { message?: string; stack?: string };
  const facts = Object.entries({ ...fields, ...(err !== undefined && stack === undefined && { err: message ?? err }) });
  const parts = [
    `${clock(at)} ${offset(at)}`,
    LEVELS[Number(level)] ?? "     ",
    String(msg),
    ...facts.map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`),
  ];
  const told = printable(parts.join(" ")).trimEnd();
  return `${told}\n${stack === undefined ? "" : `${printableLines(stack.replace(/^/gm, "  "))}\n`}`;
}
