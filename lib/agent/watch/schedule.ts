import { setTimeout as sleep } from "node:timers/promises";

/** The longest pause between two tries, when the interval itself is not longer. Milliseconds. */
const MAX_BACKOFF_MS = 15 * 60_000;
/** Share of the interval by which checks are spread, so that a fleet that started together does not stay together. */
const JITTER = 0.1;
/** Hosts that wait for the same moment ask within this time, and as long after it. Milliseconds. */
const SPREAD_MS = 1000;
/** The longest wait of a timer; a longer one would end at once. Milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Waits as long as it takes: a host that was removed asks no more before a person or another configuration does. */
export async function untilAborted(signal: AbortSignal): Promise<true> {
  while (!signal.aborted) await sleep(MAX_TIMER_MS, undefined, { signal }).catch(() => {});
  return true;
}

export interface Rhythm {
  /** Milliseconds between two checks while all is well. */
  intervalMs: number;
  /** Checks or deployments that failed since the last one that did not. */
  failures: number;
  /** Milliseconds that the hub asked to wait for. */
  retryAfterMs?: number | undefined;
  /**
   * Milliseconds until a rollout's window opens, or until a version that a policy holds is looked at again; negative
   * when that has come since the last check.
   */
  dueInMs?: number | undefined;
}

/**
 * Milliseconds until the next check. The interval with ±10 % of jitter, or until soon after what is due when that is
 * sooner. After failures it doubles with each one up to 15 minutes, of which a random half is waited at
 * least, never less than while all is well, and what the hub asked for always (at most that long, too). The first
 * success brings the interval back.
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
