import { writeSync } from "node:fs";
import { workerData } from "node:worker_threads";
import { NAME_SIZE, SLOT, type WatchdogData } from "./watchdog-slots.ts";

/**
 * Thread of the watchdog: notices that the main thread's pulse has stopped, and reports it while the main thread
 * cannot.
 */

const { shared, periodMs, thresholdMs, names, announce } = workerData as WatchdogData;
const slots = new Int32Array(shared);
const nameSlots = new Uint8Array(names);

const nameOf = (plugin: number): string => {
  if (plugin === 0) return "";
  const length = nameSlots[(plugin - 1) * NAME_SIZE] ?? 0;
  return Buffer.from(nameSlots.slice((plugin - 1) * NAME_SIZE + 1, (plugin - 1) * NAME_SIZE + 1 + length)).toString(
    "latin1",
  );
};

let pulse = 0;
let since = performance.now();
let blocked = false;

setInterval(() => {
  const now = performance.now();
  const current = Atomics.load(slots, SLOT.pulse);
  if (current !== pulse) {
    if (blocked) Atomics.store(slots, SLOT.lastMs, Math.round(now - since));
    if (blocked) Atomics.add(slots, SLOT.count, 1);
    pulse = current;
    since = now;
    blocked = false;
    return;
  }
  if (blocked || now - since < thresholdMs) return;
  blocked = true;
  const plugin = Atomics.load(slots, SLOT.running);
  Atomics.store(slots, SLOT.culprit, plugin);
  if (announce === "none" || (announce === "plugins" && plugin === 0)) return;
  const record = {
    level: 50,
    time: new Date().toISOString(),
    name: "watchdog",
    plugin: nameOf(plugin) || undefined,
    msg: `the event loop has been blocked for ${Math.round(now - since)} ms`,
  };
  try {
    writeSync(2, `${JSON.stringify(record)}\n`);
  } catch {
    // A full log disk, or a stalled reader: the main thread reports it again when it can.
  }
}, periodMs);
