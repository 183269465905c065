/** Returns the middle of some measurements. @throws Error when there are none */
export function median(values: readonly number[]): number {
  const middle = values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
  if (middle === undefined) throw new Error("nothing was measured");
  return middle;
}

/** Renders the least and the greatest of some measurements, which the median hides. */
export const spread = (values: readonly number[], digits = 0): string =>
  `${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)}`;
