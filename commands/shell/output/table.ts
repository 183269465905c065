import stringWidth from "string-width";
import { localTime } from "../../../lib/support/local-time.ts";
import { printable } from "../../../lib/support/printable.ts";

/** A column of a table. */
export interface Column<T> {
  title: string;
  of: (row: T) => string;
}

/**
 * Rows as aligned columns, whatever their writing; the last column is as wide as it likes.
 *
 * @param withTitles for people: a program that reads the lines counts on rows only
 */
export function tableLines<T>(columns: readonly Column<T>[], rows: readonly T[], withTitles: boolean): string[] {
  const cells = rows.map((row) => columns.map(({ of }) => printable(of(row))));
  const lines = withTitles ? [columns.map(({ title }) => title), ...cells] : cells;
  const widths = columns.map((_column, index) => Math.max(0, ...lines.map((line) => stringWidth(line[index]!))));
  return lines.map((line) =>
    line
      .map((cell, index) => (index === line.length - 1 ? cell : cell + " ".repeat(widths[index]! - stringWidth(cell))))
      .join("  ")
      .trimEnd(),
  );
}

/**
 * Returns a time to the second: of this place on a terminal, UTC elsewhere.
 *
 * @param time ISO 8601; any other text is returned as it is
 */
export function timeText(time: string, onTerminal = process.stdout.isTTY): string {
  const at = Date.parse(time);
  if (Number.isNaN(at)) return time;
  return onTerminal ? localTime(at) : `${new Date(at).toISOString().slice(0, 19).replace("T", " ")}Z`;
}
