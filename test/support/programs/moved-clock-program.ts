/**
 * Preloaded into a program: its wall clock is off by the milliseconds in the file MOVED_CLOCK, which may change at any
 * time. What counts time without the wall clock goes on as before, as it does when a clock is set.
 */
import { readFileSync } from "node:fs";

const RealDate = globalThis.Date;
const file = process.env["MOVED_CLOCK"]!;
/** Milliseconds between two looks at the file. */
const LOOK_MS = 20;

let offset = Number(readFileSync(file, "utf8"));
setInterval(() => {
  try {
    offset = Number(readFileSync(file, "utf8"));
  } catch {
    // Without descriptors to spare, the last offset holds.
  }
}, LOOK_MS).unref();

const now = (): number => RealDate.now() + offset;
globalThis.Date = new Proxy(RealDate, {
  construct: (real, given, made) => Reflect.construct(real, given.length === 0 ? [now()] : given, made) as Date,
  apply: () => new RealDate(now()).toString(),
  get: (real, key) => (key === "now" ? now : (Reflect.get(real, key) as unknown)),
});
