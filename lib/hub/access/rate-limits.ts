import rateLimit, { type FastifyRateLimitStoreCtor } from "@fastify/rate-limit";
import type { FastifyInstance } from "fastify";
import { credentialHash } from "./credentials.ts";
import type { SharedCounts } from "./shared-counts.ts";

export const RATE_WINDOW_MS = 60_000;

/** Request limits, shared by the hubs of one database. */
export interface RateLimits {
  /** Requests per key, or per address without a key; 0 for no limit. */
  requestsPerMinute: number;
  /** Failed authentications per address and key prefix; beyond that, 429 instead of 401. */
  failuresPerMinute: number;
}

/**
 * Multiple of `failuresPerMinute` allowed per address over all key prefixes: a fleet behind one address has many keys.
 */
export const FAILURES_OF_ADDRESS = 20;

/** Adapts the counters to the store interface of @fastify/rate-limit. */
function storeOf(counts: SharedCounts, max: number): FastifyRateLimitStoreCtor {
  return class {
    incr(key: string, done: (error: Error | null, result: { current: number; ttl: number }) => void): void {
      done(null, counts.count(key, RATE_WINDOW_MS, max));
    }
    child() {
      return this;
    }
  };
}

/** Limits the requests of each key and of each address. */
export async function limitRates(
  app: FastifyInstance,
  { rateLimits, rateCounts }: { rateLimits: RateLimits | undefined; rateCounts: SharedCounts },
): Promise<void> {
  if (rateLimits === undefined || rateLimits.requestsPerMinute === 0) return;
  const silent = { "x-ratelimit-limit": false, "x-ratelimit-remaining": false, "x-ratelimit-reset": false };
  await app.register(rateLimit, {
    global: true,
    max: rateLimits.requestsPerMinute,
    timeWindow: RATE_WINDOW_MS,
    store: storeOf(rateCounts, rateLimits.requestsPerMinute),
    // Counts by key only on routes that require one: elsewhere a client could invent a new key for each request.
    keyGenerator: (request) =>
      (request.routeOptions.schema?.security !== undefined && credentialHash(request)) || request.ip,
    addHeaders: silent,
    addHeadersOnExceeding: silent,
  });
}
