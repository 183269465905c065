import type { HubConnection } from "../../lib/client/hub-connection.ts";
import { LEAST_RATE } from "../../lib/client/least-rate.ts";
import { RateLimit } from "../../lib/client/rate-limit.ts";

/**
 * Time limit of a silent hub on surface A, in milliseconds; the next constant is for surface B
 * (docs/contract/README.md#limits).
 */
export const MARKETPLACE_TIMEOUT_MS = 60_000;
export const DEPLOY_TIMEOUT_MS = 30_000;

/** Returns the hub that a command's options name. */
export function hubConnection(
  options: {
    hubUrl: string;
    apiKey: string;
    timeoutMs: number | undefined;
    leastRate?: number;
    maxRate?: number | undefined;
    /** Bound that several targets share, in place of `maxRate`. */
    rateLimit?: RateLimit | undefined;
    mirror?: readonly string[];
  },
  defaultTimeoutMs: number,
): HubConnection {
  const { hubUrl, apiKey, timeoutMs = defaultTimeoutMs, leastRate: bytesPerSecond, maxRate, mirror } = options;
  const { rateLimit = maxRate === undefined ? undefined : new RateLimit(maxRate) } = options;
  return {
    ...{ hubUrl, apiKey, timeoutMs },
    ...(mirror !== undefined && { mirrors: mirror }),
    ...(rateLimit !== undefined && { rateLimit }),
    ...(bytesPerSecond !== undefined && { leastRate: { ...LEAST_RATE, bytesPerSecond } }),
  };
}
