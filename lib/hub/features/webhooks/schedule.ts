const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** The pauses after the attempts that fail. After the last one the message is dead. */
const PAUSES_MS = [...[MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS], ...[2 * HOUR_MS, 6 * HOUR_MS, 12 * HOUR_MS, DAY_MS]];
/** A pause is longer or shorter by up to this share: receivers that come back are not asked by all at once. */
const JITTER = 0.2;

/** Overdue time after which a message is dead without an attempt: its hub was down, or restored from an old backup. */
export const MAX_OVERDUE_MS = 4 * DAY_MS;
/** Time without any delivery after which a dying message disables its webhook. */
export const DISABLED_AFTER_MS = 5 * DAY_MS;

/**
 * Returns the pause before the next attempt, in milliseconds.
 *
 * @param attempts that have failed, 1 or more
 * @param retryAfterMs as long as the receiver wants to be left alone; a day at most counts
 * @param random from 0 to 1
 * @returns undefined after the last one
 */
export function pauseAfter(attempts: number, retryAfterMs: number, random: number): number | undefined {
  const pause = PAUSES_MS[attempts - 1];
  if (pause === undefined) return undefined;
  return Math.max(Math.round(pause * (1 + JITTER * (2 * random - 1))), Math.min(retryAfterMs, DAY_MS));
}
