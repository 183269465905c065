const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Pauses after failed attempts, in milliseconds. The message is given up when the attempt after the last one fails. */
const PAUSES_MS = [...[MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS], ...[2 * HOUR_MS, 6 * HOUR_MS, 12 * HOUR_MS, DAY_MS]];
/** Largest share by which a pause is made longer or shorter, so that not all messages come back at once. */
const JITTER = 0.2;

/** Overdue time after which a message is given up untried: its hub was down, or restored from an old backup. */
export const MAX_OVERDUE_MS = 4 * DAY_MS;
/** Time without any delivery after which a message that is given up disables its webhook. */
const DISABLED_AFTER_MS = 5 * DAY_MS;

/** An attempt to deliver a message that has failed. */
export interface FailedAttempt {
  /** Attempts of this message that have failed, this one included: 1 or more. */
  attempts: number;
  /** Whether the receiver answered 410 Gone: the message is given up, and the webhook disabled. */
  isGone: boolean;
  /** Whether the message is too old for another attempt. */
  isOverdue: boolean;
  /** Milliseconds for which the receiver wants to be left alone; counts up to a day. */
  retryAfterMs: number;
}

/**
 * Returns the pause before the next attempt, in milliseconds.
 *
 * @param random from 0 to 1
 * @returns undefined for a message that is given up
 */
export function pauseAfter(
  { attempts, isGone, isOverdue, retryAfterMs }: FailedAttempt,
  random: number,
): number | undefined {
  const pause = isGone || isOverdue ? undefined : PAUSES_MS[attempts - 1];
  if (pause === undefined) return undefined;
  return Math.max(Math.round(pause * (1 + JITTER * (2 * random - 1))), Math.min(retryAfterMs, DAY_MS));
}

/**
 * Tells whether a message that was given up disables its webhook.
 *
 * @param failingMs time in which no message of the webhook has arrived, in milliseconds
 */
export const disablesWebhook = ({ isGone }: Pick<FailedAttempt, "isGone">, failingMs: number): boolean =>
  isGone || failingMs >= DISABLED_AFTER_MS;
