/** Formats a count with its noun: `1 host`, `2 hosts`, or `12,000 hosts` for an already formatted number. */
export const counted = (count: number, noun: string, shown = String(count)): string =>
  `${shown} ${noun}${count === 1 ? "" : "s"}`;
