/** Finds the keys that were probably meant by others: one letter added, missing or different, or two swapped. */

/** Counts the edits between two words: insertions, removals, replacements and swaps of neighbours. */
export function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const above = rows[row - 1] as number[];
      const same = a[row - 1] === b[column - 1];
      let least = Math.min(
        (above[column] as number) + 1,
        (current[column - 1] as number) + 1,
        (above[column - 1] as number) + (same ? 0 : 1),
      );
      const isSwap = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (isSwap) least = Math.min(least, (rows[row - 2]?.[column - 2] as number) + 1);
      current.push(least);
    }
    rows.push(current);
  }
  return rows[a.length]?.[b.length] as number;
}

const plain = (key: string): string => key.toLowerCase().replaceAll(/[-_]/g, "");

/**
 * Returns the known key of which an unknown one is probably a misspelling, or undefined. Short keys must be closer:
 * `port` is not `env`.
 */
export function nearKey(key: string, known: Iterable<string>): string | undefined {
  const word = plain(key);
  for (const candidate of known) {
    const other = plain(candidate);
    const allowed = other.length < 5 ? 0 : other.length < 9 ? 1 : 2;
    if (editDistance(word, other) <= allowed) return candidate;
  }
  return undefined;
}
