import rateLimit, { type FastifyRateLimitStoreCtor } from "@fastify/rate-limit";
import type { FastifyInstance } from "fastify";
import { credentialHash } from "./credentials.ts";
import type { SharedCounts } from "./shared-counts.ts";

export const RATE_WINDOW_MS = 60_000;

/** The rate at which the hubs of one database may be asked. */
export interface RateLimits {
  /** Requests of one key, or of one address without a key. 0: no limit. */
  requestsPerMinute: number;
  /** Failed authentications of one address with keys of one prefix; beyond it the answer is 429 instead of 401. */
  failuresPerMinute: number;
}

/** Multiple of `failuresPerMinute` for keys of any prefix from one address: a fleet behind one has many keys. */
export const FAILURES_OF_ADDRESS = 20;

/** The counters in the form in which @fastify/rate-limit takes them. */
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
    // Only keys of routes that need one count by key: elsewhere a client could invent a key for each request.
    keyGenerator: (request) =>
      (request.routeOptions.schema?.security !== undefined && credentialHash(request)) || request.ip,
    addHeaders: silent,
    addHeadersOnExceeding: silent,
  });
}
