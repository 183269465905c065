/** Memory that the watchdog's two threads share, in a SharedArrayBuffer of 32-bit slots. */
export const SLOT = {
  /** Counts up while the main thread's loop turns. */
  pulse: 0,
  /** Number of the plugin whose synchronous code runs, or 0. */
  running: 1,
  /** Number of blockages that are over. */
  count: 2,
  /** Milliseconds that the last one took. */
  lastMs: 3,
  /** Number of the plugin that ran when it was noticed, or 0. */
  culprit: 4,
} as const;

export const SLOTS = 5;

/** Most plugins whose names the thread can report, each with one length byte and 128 characters. */
export const NAMES = 1024;
export const NAME_SIZE = 129;

/** Blockages that the thread itself reports on standard error: all, those that a plugin caused, or none. */
export type Announce = "all" | "plugins" | "none";

export interface WatchdogData {
  shared: SharedArrayBuffer;
  names: SharedArrayBuffer;
  periodMs: number;
  thresholdMs: number;
  announce: Announce;
}
