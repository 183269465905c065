const collator = new Intl.Collator("en", { numeric: true });

/**
 * Compares names as people do: consecutive digits are one number, so that `host-9` comes before `host-10`. Different
 * names are never equal.
 */
export const naturally = (a: string, b: string): number => collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
