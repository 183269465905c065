import { operationOf } from "./requests.ts";

/** The time that the hub itself took for an operation, by its own metrics. */
export interface HubTimes {
  operation: string;
  count: number;
  /** Milliseconds that half of the requests, or 99 of 100, did not exceed: upper bounds of the hub's histogram. */
  p50: number;
  p99: number;
}

const BUCKET = /^sealift_hub_request_duration_seconds_bucket\{(.*)\} (\d+)$/gm;

/** Reads the times of surface B from a page of the hub's metrics. */
export function hubTimes(page: string): HubTimes[] {
  const buckets = new Map<string, { bound: number; count: number }[]>();
  for (const [, labels = "", count] of page.matchAll(BUCKET)) {
    const route = /route="([^"]*)"/.exec(labels)?.[1] ?? "";
    const bound = /le="([^"]*)"/.exec(labels)?.[1] ?? "";
    const operation = operationOf(route);
    if (operation === undefined) continue;
    const found = buckets.get(operation) ?? [];
    buckets.set(operation, found);
    found.push({ bound: bound === "+Inf" ? Infinity : Number(bound) * 1000, count: Number(count) });
  }
  return [...buckets].toSorted().map(([operation, found]) => {
    const sorted = found.toSorted((a, b) => a.bound - b.bound);
    const count = sorted.at(-1)!.count;
    const within = (part: number): number => sorted.find((bucket) => bucket.count >= count * part)!.bound;
    return { operation, count, p50: within(0.5), p99: within(0.99) };
  });
}
