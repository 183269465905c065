import { operationOf } from "./requests.ts";

/** Time that the hub itself took for an operation, by its own metrics. */
export interface HubTimes {
  phase: string;
  operation: string;
  count: number;
  /**
   * Milliseconds that half of the requests did not exceed, and 99 of 100 in the next field: upper bounds of the hub's
   * histogram.
   */
  p50: number;
  p99: number;
}

const BUCKET = /^sealift_hub_request_duration_seconds_bucket\{(.*)\} (\d+)$/gm;

/** Returns the counts of a page by the labels of their bucket. */
const countsIn = (page: string): Map<string, number> =>
  new Map([...page.matchAll(BUCKET)].map(([, labels = "", count]) => [labels, Number(count)]));

/** Computes the times of surface B from two pages of the hub's metrics. */
export function hubTimes(phase: string, [before, after]: [string, string]): HubTimes[] {
  const earlier = countsIn(before);
  const buckets = new Map<string, { bound: number; count: number }[]>();
  for (const [labels, count] of countsIn(after)) {
    const route = /route="([^"]*)"/.exec(labels)?.[1] ?? "";
    const bound = /le="([^"]*)"/.exec(labels)?.[1] ?? "";
    const operation = operationOf(route);
    if (operation === undefined) continue;
    buckets
      .getOrInsertComputed(operation, () => [])
      .push({
        bound: bound === "+Inf" ? Infinity : Number(bound) * 1000,
        count: count - (earlier.get(labels) ?? 0),
      });
  }
  return [...buckets].toSorted().flatMap(([operation, found]) => {
    const sorted = found.toSorted((a, b) => a.bound - b.bound);
    const count = sorted.at(-1)!.count;
    const within = (part: number): number => sorted.find((bucket) => bucket.count >= count * part)!.bound;
    return count === 0 ? [] : [{ phase, operation, count, p50: within(0.5), p99: within(0.99) }];
  });
}
