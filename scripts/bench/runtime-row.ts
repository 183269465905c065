export type { Row as BenchRow } from "./row.ts";

export const round = (value: number, digits = 2): number => Number(value.toFixed(digits));
