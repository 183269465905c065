import { setTimeout as sleep } from "node:timers/promises";
import pRetry from "p-retry";
import type { Code } from "../contract/codes.ts";
import { SealiftError } from "../contract/errors.ts";
import { OPERATIONS } from "./error-wording.ts";
import type { HttpRequest, Transport } from "./http.ts";

const RETRIES = 3;
const FIRST_DELAY_MS = 500;
const MAX_RETRY_AFTER_MS = 60_000;

/** Milliseconds that the hub asked to wait before the next try, at most 60 s of them (docs/contract/marketplace.md). */
export function askedWait(error: Error): number | undefined {
  const wait = error instanceof SealiftError ? error.retryAfterMs : undefined;
  return wait === undefined ? undefined : Math.min(wait, MAX_RETRY_AFTER_MS);
}

const TRANSIENT = new Set<Code>([
  "connection_failed",
  "timed_out",
  "rate_limited",
  "hub_unavailable",
  "runtime_unavailable",
]);

/** True for an error that may be gone at the next try: 408, 429, 5xx, connections. */
export const isTransient = (error: unknown): boolean => error instanceof SealiftError && TRANSIENT.has(error.code);

/**
 * The one retry rule (docs/contract/marketplace.md): GETs are tried three times more after 408, 429, 5xx and connection
 * errors (and 404, where the operation says that a version may still be propagating), with exponential delays from 0.5
 * s and jitter; `Retry-After` is honoured up to 60 s. Everything else is tried once.
 */
export async function withRetries<T>(
  request: HttpRequest,
  { signal }: Transport,
  attempt: () => Promise<T>,
): Promise<T> {
  if (request.method !== "GET") return attempt();
  return pRetry(attempt, {
    retries: RETRIES,
    minTimeout: FIRST_DELAY_MS,
    factor: 2,
    randomize: true,
    ...(signal && { signal }),
    shouldRetry: ({ error }) =>
      isTransient(error) || (OPERATIONS[request.operation].retry404 === true && (error as SealiftError).status === 404),
    onFailedAttempt: async ({ error, retriesLeft }) => {
      const wait = retriesLeft > 0 ? askedWait(error) : undefined;
      if (wait !== undefined) await sleep(wait, undefined, signal && { signal });
    },
  });
}

export interface RepeatOptions {
  signal?: AbortSignal;
  /**
   * Hears of each failure after which there is another attempt: the number of the next one, and how many there are at
   * most.
   */
  onRetry: (error: SealiftError, attempt: number, attempts: number) => void;
}

/**
 * Repeats what may be done twice without harm, such as a publication of the same bytes, after 408, 429, 5xx and
 * connection errors: three times more, with the delays of {@link withRetries}.
 */
export async function repeated<T>(attempt: () => Promise<T>, { signal, onRetry }: RepeatOptions): Promise<T> {
  return pRetry(attempt, {
    retries: RETRIES,
    minTimeout: FIRST_DELAY_MS,
    factor: 2,
    randomize: true,
    ...(signal && { signal }),
    shouldRetry: ({ error }) => isTransient(error),
    onFailedAttempt: async ({ error, attemptNumber, retriesLeft }) => {
      if (retriesLeft === 0 || !(error instanceof SealiftError) || !isTransient(error)) return;
      onRetry(error, attemptNumber + 1, RETRIES + 1);
      const wait = askedWait(error);
      if (wait !== undefined) await sleep(wait, undefined, signal && { signal });
    },
  });
}
