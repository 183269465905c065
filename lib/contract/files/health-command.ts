import type { Application } from "./application.ts";

/** Times of `health` that a descriptor does not state, in seconds. */
export const HEALTH_SECONDS = { within: 30, stays_up: 10 } as const;

/** Longest time of one run of a health command, in seconds: it is run each minute. */
const MAX_CHECK_SECONDS = 30;

/** Returns the time limit of one run of an application's health command, in seconds. */
export const checkSeconds = ({ health }: Pick<Application, "health">): number =>
  Math.min(health.within, MAX_CHECK_SECONDS);

/** Time for which a good answer of a health command counts, and a bad one, in milliseconds. */
const GOOD_MS = 60_000;
const BAD_MS = 5_000;
/** Longest time for which somebody who only looks waits for the first answer, in milliseconds. */
export const FIRST_ANSWER_MS = 2_000;

/** Tells whether a health command is to be run again. @param ageMs time since its last end, in milliseconds */
export const isAskedAgain = (fault: string | null, ageMs: number): boolean =>
  ageMs >= (fault === null ? GOOD_MS : BAD_MS) || ageMs < 0;

/** Says how a health command failed. @param why it ended, as a clause */
export const checkFault = (why: string): string => `\`health.command\` failed: ${why}`;
