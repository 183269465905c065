/** Most names in one sentence. */
const NAMED = 5;

/** Names the first of several things, and counts the others: `a, b, c, d, e and 3 more`. */
export const namesText = (names: readonly string[]): string =>
  names.slice(0, NAMED).join(", ") + (names.length > NAMED ? ` and ${names.length - NAMED} more` : "");
