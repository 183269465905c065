import { channel } from "node:diagnostics_channel";
import type { ClientRequest, IncomingMessage } from "node:http";
import { createHistogram, type RecordableHistogram } from "node:perf_hooks";
import { MOUNTS } from "../../lib/contract/surfaces/paths.ts";

/** The part of a request's path that tells what an agent wants. */
const OPERATIONS: [RegExp, string][] = [
  [/\/v1\/auth$/, "session"],
  [/\/versions\/latest$/, "poll"],
  [/\/artifacts\/[^/]+$/, "location"],
  [/\/deployments\/authorize$/, "authorize"],
  [/\/v1\/downloads\//, "download"],
  [/\/deployments\/report$/, "report"],
  [/\/publish$/, "publish"],
];

/** Returns the operation of a path, or of a route's pattern, on surface B. */
export const operationOf = (path: string): string | undefined =>
  path.startsWith(MOUNTS.deploy) ? OPERATIONS.find(([pattern]) => pattern.test(path.split("?")[0]!))?.[1] : undefined;

const NANOSECONDS = 1_000_000;
const nowNs = (): bigint => process.hrtime.bigint();

/** The time from a request to the headers of its answer, by operation and status, over a whole run. */
export interface RequestTimes extends Disposable {
  /** One line for each operation and status: how many, and percentiles in milliseconds. */
  rows(): { operation: string; status: string; count: number; p50: number; p99: number; max: number }[];
  /** Requests so far. */
  readonly count: number;
}

/** Measures every request to surface B that this process makes, whatever library makes it. */
export function measureRequests(): RequestTimes {
  const started = new WeakMap<ClientRequest, bigint>();
  const histograms = new Map<string, RecordableHistogram>();
  let count = 0;
  const note = (request: ClientRequest, status: string): void => {
    const operation = operationOf(request.path);
    const start = started.get(request);
    if (operation === undefined || start === undefined) return;
    count++;
    const key = `${operation} ${status}`;
    let histogram = histograms.get(key);
    if (histogram === undefined) histograms.set(key, (histogram = createHistogram()));
    histogram.record(nowNs() - start || 1n);
  };
  const listeners: [string, (message: unknown) => void][] = [
    ["http.client.request.start", (message) => started.set((message as { request: ClientRequest }).request, nowNs())],
    [
      "http.client.response.finish",
      (message) => {
        const { request, response } = message as { request: ClientRequest; response: IncomingMessage };
        note(request, String(response.statusCode));
      },
    ],
    [
      "http.client.request.error",
      (message) => {
        const { request, error } = message as { request: ClientRequest; error: NodeJS.ErrnoException };
        note(request, error.code ?? "error");
      },
    ],
  ];
  for (const [name, listener] of listeners) channel(name).subscribe(listener);
  const milliseconds = (nanoseconds: number): number => Math.round(nanoseconds / (NANOSECONDS / 100)) / 100;
  return {
    get count() {
      return count;
    },
    rows: () =>
      [...histograms].toSorted().map(([key, histogram]) => {
        const [operation = "", status = ""] = key.split(" ");
        return {
          ...{ operation, status, count: histogram.count },
          p50: milliseconds(histogram.percentile(50)),
          p99: milliseconds(histogram.percentile(99)),
          max: milliseconds(histogram.max),
        };
      }),
    [Symbol.dispose]() {
      for (const [name, listener] of listeners) channel(name).unsubscribe(listener);
    },
  };
}
