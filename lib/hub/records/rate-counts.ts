import type { Queries } from "./port.ts";

/** Adds to counters of a window. @returns their sums over all hubs */
export async function addCounts(
  db: Queries,
  windowStart: number,
  counts: readonly { key: string; own: number }[],
): Promise<Map<string, number>> {
  const rows = await db
    .insertInto("rate_counts")
    // In the same order for all hubs, so that no two deadlock.
    .values(
      counts
        .toSorted((a, b) => (a.key < b.key ? -1 : 1))
        .map(({ key, own }) => ({ key, window_start: windowStart, count: own })),
    )
    .onConflict((conflict) =>
      conflict
        .columns(["key", "window_start"])
        .doUpdateSet((eb) => ({ count: eb("rate_counts.count", "+", eb.ref("excluded.count")) })),
    )
    .returning(["key", "count"])
    .execute();
  return new Map(rows.map(({ key, count }) => [key, Number(count)]));
}

/** Removes the counters of earlier windows. */
export async function removeCounts(db: Queries, windowStart: number): Promise<void> {
  await db.deleteFrom("rate_counts").where("window_start", "<", windowStart).execute();
}
