import { setTimeout as sleep } from "node:timers/promises";
import pRetry from "p-retry";
import type { Code } from "../contract/codes.ts";
import { SealiftError } from "../contract/errors.ts";
import { OPERATIONS } from "./error-wording.ts";
import type { HttpRequest, Transport } from "./http.ts";

const RETRIES = 3;
/** Attempts of what is retried. */
export const ATTEMPTS = RETRIES + 1;
const FIRST_DELAY_MS = 500;
const MAX_RETRY_AFTER_MS = 60_000;

/**
 * Returns the milliseconds that the hub asked to wait before the next attempt, at most 60 s
 * (docs/contract/marketplace.md).
 */
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
  "upload_busy",
]);

/** True for an error that may pass: 408, 429, 5xx, connections. */
export const isTransient = (error: unknown): boolean => error instanceof SealiftError && TRANSIENT.has(error.code);

/** Failure that is followed by another attempt. */
export interface Retry {
  error: SealiftError;
  /** Number of the next attempt, and the most there are. */
  attempt: number;
  attempts: number;
  /** Milliseconds that the server asks to wait; 0 if it does not. */
  waitMs: number;
}

interface Repetition {
  signal?: AbortSignal | undefined;
  isWorthIt: (error: SealiftError) => boolean;
  onRetry: (retry: Retry) => void;
}

async function tried<T>(attempt: () => Promise<T>, { signal, isWorthIt, onRetry }: Repetition): Promise<T> {
  const isRetried = (error: unknown): error is SealiftError => error instanceof SealiftError && isWorthIt(error);
  return pRetry(attempt, {
    retries: RETRIES,
    minTimeout: FIRST_DELAY_MS,
    factor: 2,
    randomize: true,
    ...(signal && { signal }),
    shouldRetry: ({ error }) => isRetried(error),
    onFailedAttempt: async ({ error, attemptNumber, retriesLeft }) => {
      if (retriesLeft === 0 || !isRetried(error)) return;
      const waitMs = askedWait(error) ?? 0;
      onRetry({ error, attempt: attemptNumber + 1, attempts: ATTEMPTS, waitMs });
      if (waitMs > 0) await sleep(waitMs, undefined, signal && { signal });
    },
  });
}

/**
 * Retries a request by the contract's rule (docs/contract/README.md): GETs, and requests as safe to repeat, get three
 * more attempts after 408, 429, 5xx and connection errors (and after 404, where a version may still be propagating),
 * with exponential delays from 0.5 s and jitter; `Retry-After` is respected up to 60 s. Everything else is tried once.
 */
export async function withRetries<T>(
  request: HttpRequest,
  { signal, onWait }: Transport,
  attempt: () => Promise<T>,
): Promise<T> {
  if (request.method !== "GET" && request.isRepeatable !== true) return attempt();
  const { retry404 = false } = OPERATIONS[request.operation];
  return tried(attempt, {
    signal,
    isWorthIt: (error) => isTransient(error) || (retry404 && error.status === 404),
    onRetry: ({ error, waitMs }) => waitMs > 0 && onWait?.(error, waitMs),
  });
}

/**
 * Retries what is safe to repeat, such as a publication of the same bytes, after 408, 429, 5xx and connection errors:
 * three more attempts, with the delays of {@link withRetries}.
 *
 * @param isWorthIt errors to retry after, where they are others
 */
export async function repeated<T>(
  attempt: () => Promise<T>,
  { signal, onRetry, isWorthIt = isTransient }: Pick<Repetition, "signal" | "onRetry"> & Partial<Repetition>,
): Promise<T> {
  return tried(attempt, { signal, onRetry, isWorthIt });
}
