/** Returns the middle of some measurements. @throws Error when there are none */
export function median(values: readonly number[]): number {
  const middle = values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
  if (middle === undefined) throw new Error("nothing was measured");
  return middle;
}

/** Returns the mean of some measurements. */
export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Formats the least and the greatest of some measurements, which the median hides. */
export const spread = (values: readonly number[], digits = 0): string =>
  `${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)}`;

/** Formats the durations of repeated work: the count, percentiles and the longest. @param times milliseconds */
export function timesLine(what: string, times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number): string =>
    sorted[Math.min(Math.floor(sorted.length * part), sorted.length - 1)]?.toFixed(1) ?? "–";
  return `${what}: ${times.length}, p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms`;
}
