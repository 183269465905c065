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
