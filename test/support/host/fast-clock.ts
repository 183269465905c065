/**
 * Preload of a process whose clock goes faster than the real one, and is set by a file: long waits of
 * `node:timers/promises` are as much shorter. Durations (`performance.now`) stay real.
 */
import { readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import promises from "node:timers/promises";

const { FAST_CLOCK_FROM = "0", FAST_CLOCK_SPEED = "1", FAST_CLOCK_FILE = "" } = process.env;
const RealDate = Date;
const sleep = promises.setTimeout;
/** Waits from here on are for times of the clock, and not for somebody's answer, in milliseconds. */
const LONG_MS = 1_001;

function offset(): number {
  try {
    return Number(readFileSync(FAST_CLOCK_FILE, "latin1"));
  } catch {
    return 0;
  }
}

const now = (): number =>
  Number(FAST_CLOCK_FROM) +
  Math.round((RealDate.now() - Number(FAST_CLOCK_FROM)) * Number(FAST_CLOCK_SPEED)) +
  offset();

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, own) => Reflect.construct(target, args.length === 0 ? [now()] : args, own) as object,
  get: (target, name, own) => (name === "now" ? now : (Reflect.get(target, name, own) as unknown)),
});
// A clock that is set wakes nobody: no wait is longer than the scheduler's longest, at this speed.
promises.setTimeout = (ms = 1, value, options) =>
  sleep(ms >= LONG_MS ? Math.max(20, ms / Number(FAST_CLOCK_SPEED)) : ms, value, options);
syncBuiltinESMExports();
