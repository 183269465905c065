/**
 * Returns what a newer answer lost: fields that are gone and values that differ, each as `path: old, new`. Fields that
 * are new are no loss.
 */
export function lossesIn(before: unknown, after: unknown, path = ""): string[] {
  if (Array.isArray(before) && Array.isArray(after)) {
    if (before.length !== after.length) return [`${path}: ${before.length} items, ${after.length} items`];
    return before.flatMap((item, index) => lossesIn(item, after[index], `${path}[${index}]`));
  }
  if (isRecord(before) && isRecord(after))
    return Object.entries(before).flatMap(([key, value]) => lossesIn(value, after[key], `${path}.${key}`));
  return Object.is(before, after) ? [] : [`${path}: ${JSON.stringify(before)}, ${JSON.stringify(after)}`];
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
