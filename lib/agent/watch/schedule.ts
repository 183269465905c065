import { setTimeout as sleep } from "node:timers/promises";

/** Returns the time of an event. */
export const isoNow = (): string => new Date().toISOString();

/** Longest pause between two attempts, unless the interval itself is longer, in milliseconds. */
const MAX_BACKOFF_MS = 15 * 60_000;
/** Share of the interval by which checks are spread, so that a fleet that started together does not stay in step. */
const JITTER = 0.1;
/** Time over which hosts that wait for the same moment are spread, before and after it, in milliseconds. */
const SPREAD_MS = 1000;
/** Longest delay of a timer, in milliseconds; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Waits until the signal is aborted: a removed host makes no more requests before a person or another configuration
 * intervenes.
 */
export async function untilAborted(signal: AbortSignal): Promise<true> {
  while (!signal.aborted) await sleep(MAX_TIMER_MS, undefined, { signal }).catch(() => {});
  return true;
}

export interface Rhythm {
  /** Milliseconds between two checks while all is well. */
  intervalMs: number;
  /** Consecutive failures of checks or deployments. */
  failures: number;
  /** Milliseconds that the hub asked to wait. */
  retryAfterMs?: number | undefined;
  /**
   * Milliseconds until a rollout's window opens, or until a version held by a policy is checked again; negative when
   * that time has passed since the last check.
   */
  dueInMs?: number | undefined;
}

/**
 * Returns the milliseconds until the next check: the interval with ±10 % of jitter, or until soon after what is due if
 * that is sooner. Each failure doubles it up to 15 minutes, of which a random part of at least half is waited; never
 * less than without failures, and always as long as the hub asked for (also up to that limit). The first success
 * restores the interval.
 *
 * @param random from 0 to 1
 */
export function nextDelay(rhythm: Rhythm, random: number): number {
  return Math.min(Math.round(rhythm.failures === 0 ? regular(rhythm, random) : backoff(rhythm, random)), MAX_TIMER_MS);
}

function regular({ intervalMs, dueInMs = Infinity }: Rhythm, random: number): number {
  const due = Math.max(dueInMs, 0) + SPREAD_MS * (1 + random);
  return Math.min(intervalMs * (1 - JITTER + 2 * JITTER * random), due);
}

function backoff({ intervalMs, failures, retryAfterMs = 0 }: Rhythm, random: number): number {
  const longest = Math.max(intervalMs, MAX_BACKOFF_MS);
  const most = Math.min(intervalMs * 2 ** Math.min(failures, 30), longest);
  const least = Math.max(most / 2, intervalMs * (1 - JITTER));
  return Math.max(least + (most - least) * random, Math.min(retryAfterMs, longest));
}
