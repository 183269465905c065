/** One line of the benchmark's table: a measurement as a ratio against something bare, measured in the same run. */
export interface BenchRow {
  name: string;
  against: string;
  ratio: number;
  budget: string;
  ok: boolean;
  detail: string;
}

export const round = (value: number, digits = 2): number => Number(value.toFixed(digits));
