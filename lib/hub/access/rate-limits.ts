import rateLimit from "@fastify/rate-limit";
import type { FastifyInstance } from "fastify";
import type { HubContext } from "../context.ts";
import { credentialHash } from "./authentication.ts";

const WINDOW_MS = 60_000;

/** How often the hub may be asked. */
export interface RateLimits {
  /** Of one key, or of one address without a key. */
  requestsPerMinute: number;
  /** Failed authentications of one address; beyond it the answer is 429 instead of 401. */
  failuresPerMinute: number;
}

/** Limits the requests of each key and of each address. */
export async function limitRates(app: FastifyInstance, { rateLimits }: HubContext): Promise<void> {
  if (rateLimits === undefined) return;
  await app.register(rateLimit, {
    global: true,
    max: rateLimits.requestsPerMinute,
    timeWindow: WINDOW_MS,
    cache: 20_000,
    keyGenerator: (request) => credentialHash(request) ?? request.ip,
    addHeaders: { "x-ratelimit-limit": false, "x-ratelimit-remaining": false, "x-ratelimit-reset": false },
    addHeadersOnExceeding: { "x-ratelimit-limit": false, "x-ratelimit-remaining": false, "x-ratelimit-reset": false },
  });
}
