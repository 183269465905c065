/** One line of the benchmark: a measurement as a ratio to its rival (docs/performance.md). */
export interface Row {
  name: string;
  against: string;
  /** Ours divided by theirs; for memory, MB. */
  ratio: number;
  /** A number, or words where the budget is a formula. */
  budget: number | string;
  ok: boolean;
  detail: string;
}

/** A row where less is better. */
export const atMost = (name: string, against: string, ratio: number, budget: number, detail: string): Row => ({
  name,
  against,
  ratio,
  budget,
  ok: ratio <= budget,
  detail,
});

/** A row where more is better. */
export const atLeast = (name: string, against: string, ratio: number, budget: number, detail: string): Row => ({
  ...atMost(name, against, ratio, budget, detail),
  ok: ratio >= budget,
});

/** Renders rows of cells as lines, with every column as wide as its widest cell. */
export function inColumns(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const cells of rows)
    cells.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, cell.length)));
  return rows
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
