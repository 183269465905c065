import { channel } from "node:diagnostics_channel";
import type { ClientRequest, IncomingMessage } from "node:http";
import { createHistogram, type RecordableHistogram } from "node:perf_hooks";
import { MOUNTS } from "../../lib/contract/surfaces/paths.ts";

/** Patterns of request paths, by what an agent wants. */
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

/** Nanoseconds from a request to the end of its answer, by phase, operation and status. */
export type RequestHistograms = Map<string, RecordableHistogram>;

/** Operation with one status in one phase of a run: how many, and percentiles in milliseconds. */
export interface RequestRow {
  phase: string;
  operation: string;
  status: string;
  count: number;
  p50: number;
  p99: number;
  max: number;
}

const milliseconds = (nanoseconds: number): number => Math.round(nanoseconds / (NANOSECONDS / 100)) / 100;

/** Merges the measurements of several threads. */
export function requestRows(parts: RequestHistograms[]): RequestRow[] {
  const whole: RequestHistograms = new Map();
  for (const [key, histogram] of parts.flatMap((part) => [...part])) {
    const sum = whole.getOrInsertComputed(key, () => createHistogram());
    sum.add(histogram);
  }
  return [...whole]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, histogram]) => {
      const [phase = "", operation = "", status = ""] = key.split(" ");
      return {
        ...{ phase, operation, status, count: histogram.count },
        p50: milliseconds(histogram.percentile(50)),
        p99: milliseconds(histogram.percentile(99)),
        max: milliseconds(histogram.max),
      };
    });
}

/**
 * Measures every request of this thread to surface B, whatever library makes it, until disposed of: from its creation,
 * since an answer may arrive before the request's last byte is known to be sent.
 */
export function measureRequests(): Disposable & { histograms: RequestHistograms; phase: string } {
  const started = new WeakMap<ClientRequest, { at: bigint; phase: string }>();
  const histograms: RequestHistograms = new Map();
  const note = (request: ClientRequest, status: string): void => {
    const operation = operationOf(request.path);
    const start = started.get(request);
    if (operation === undefined || start === undefined) return;
    const key = `${start.phase} ${operation} ${status}`;
    const histogram = histograms.getOrInsertComputed(key, () => createHistogram());
    histogram.record(nowNs() - start.at || 1n);
  };
  const measurement = {
    histograms,
    /** Phase of the requests that begin from now on: a word. */
    phase: "start",
    [Symbol.dispose]() {
      for (const [name, listener] of listeners) channel(name).unsubscribe(listener);
    },
  };
  const listeners: [string, (message: unknown) => void][] = [
    [
      "http.client.request.created",
      (message) =>
        started.set((message as { request: ClientRequest }).request, { at: nowNs(), phase: measurement.phase }),
    ],
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
  return measurement;
}
