/** Writes a number of things: `1 host`, `2 hosts`, `12,000 hosts` of a number that is written already. */
export const counted = (count: number, noun: string, shown = String(count)): string =>
  `${shown} ${noun}${count === 1 ? "" : "s"}`;
