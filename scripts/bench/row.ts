import { type Budget, type BudgetName, BUDGETS } from "./budgets.ts";

/** Line of the benchmark: a measurement as a ratio to its rival (docs/performance.md). */
export interface Row {
  name: string;
  against: string;
  /** Ratio, in the unit of the budget. */
  ratio: number;
  budget: string;
  ok: boolean;
  detail: string;
}

/**
 * Judges a measurement by its budget.
 *
 * @param about what it was measured with, unless the budget says so
 * @param allowance factor on the limit: on a disk both sides wait for it
 */
export function judged(name: BudgetName, measured: number, detail: string, about = "", allowance = 1): Row {
  const { what, against, limit, unit, isLeast }: Budget = BUDGETS[name];
  const allowed = limit * allowance;
  return {
    name: [what.replaceAll("`", ""), about].filter(Boolean).join(", "),
    against: against.replaceAll("`", ""),
    ratio: measured,
    budget: `${isLeast ? "≥" : "≤"} ${Number(allowed.toFixed(2))} ${unit}`,
    ok: isLeast ? measured >= allowed : measured <= allowed,
    detail,
  };
}

/** Measured time in seconds. */
interface Timed {
  wall: number;
}

export const secondsText = (ours: Timed, theirs: Timed): string =>
  `${ours.wall.toFixed(2)} s against ${theirs.wall.toFixed(2)} s`;

/** Judges Sealift's time as a ratio to that of a rival. @param about, allowance as for {@link judged} */
export const rowOf = (name: BudgetName, ours: Timed, theirs: Timed, about = "", allowance = 1): Row =>
  judged(name, ours.wall / theirs.wall, secondsText(ours, theirs), about, allowance);

/** Returns a row without a budget. */
export const unjudged = (name: string, against: string, ratio: number, budget: string, detail: string): Row => ({
  ...{ name, against, ratio, budget, ok: true, detail },
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
