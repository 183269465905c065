import stringWidth from "string-width";
import { printable } from "../../../lib/support/printable.ts";
import type { ListColumns } from "./listing.ts";

/**
 * Aligns rows in columns, in any script; the last column has no fixed width.
 *
 * @param withTitles for people: a program that reads the lines expects only rows
 */
export function tableLines<T>(columns: ListColumns<T>, rows: readonly T[], withTitles: boolean): string[] {
  const cells = rows.map((row) => Object.values(columns).map((textOf) => printable(textOf(row))));
  const titles = Object.keys(columns);
  const lines = withTitles ? [titles, ...cells] : cells;
  const widths = titles.map((_title, index) => Math.max(0, ...lines.map((line) => stringWidth(line[index]!))));
  return lines.map((line) =>
    line
      .map((cell, index) => (index === line.length - 1 ? cell : cell + " ".repeat(widths[index]! - stringWidth(cell))))
      .join("  ")
      .trimEnd(),
  );
}
