import type { Worker } from "node:worker_threads";
import { startThread } from "../../support/thread.ts";
import { type Announce, NAME_SIZE, NAMES, SLOT, SLOTS, type WatchdogData } from "./watchdog-slots.ts";

/** Each tick wakes two threads: no more of them than the threshold asks for. Milliseconds. */
const periodOf = (thresholdMs: number): number => Math.min(250, Math.max(20, thresholdMs / 8));

export interface Blockage {
  seconds: number;
  /** The trusted plugin whose synchronous code ran, when one did. */
  plugin: string | undefined;
  /** When it was over, by `performance.now()`. */
  endedAtMs: number;
}

export type Guard = <T>(work: () => T) => T;

/**
 * Notices that trusted code blocks the event loop. It cannot stop that code: it names it, in the log at once and in
 * health and metrics as soon as the loop turns again.
 */
export class Watchdog implements AsyncDisposable {
  last: Blockage | undefined;
  readonly #slots = new Int32Array(new SharedArrayBuffer(SLOTS * 4));
  readonly #names = new Uint8Array(new SharedArrayBuffer(NAMES * NAME_SIZE));
  readonly #numbers = new Map<string, number>();
  readonly #worker: Worker;
  readonly #timer: NodeJS.Timeout;
  #seen = 0;

  constructor(options: { thresholdMs: number; announce: Announce; onBlocked: (blockage: Blockage) => void }) {
    const periodMs = periodOf(options.thresholdMs);
    const data: WatchdogData = {
      shared: this.#slots.buffer,
      names: this.#names.buffer,
      periodMs,
      thresholdMs: options.thresholdMs,
      announce: options.announce,
    };
    this.#worker = startThread(import.meta.url, "watchdog-worker", data);
    this.#worker.unref();
    this.#timer = setInterval(() => {
      Atomics.add(this.#slots, SLOT.pulse, 1);
      this.#notice(options.onBlocked);
    }, periodMs).unref();
  }

  /** Returns a runner that attributes any block of the event loop to `plugin`. */
  guardOf(plugin: string): Guard {
    const slots = this.#slots;
    const number = this.#numberOf(plugin);
    return (work) => {
      const before = Atomics.exchange(slots, SLOT.running, number);
      try {
        return work();
      } finally {
        Atomics.store(slots, SLOT.running, before);
      }
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    this.#worker.ref();
    await this.#worker.terminate();
  }

  #notice(onBlocked: (blockage: Blockage) => void): void {
    const count = Atomics.load(this.#slots, SLOT.count);
    if (count === this.#seen) return;
    this.#seen = count;
    const number = Atomics.load(this.#slots, SLOT.culprit);
    const plugin = [...this.#numbers].find(([, known]) => known === number)?.[0];
    const seconds = Atomics.load(this.#slots, SLOT.lastMs) / 1000;
    this.last = { seconds, plugin, endedAtMs: performance.now() };
    onBlocked(this.last);
  }

  #numberOf(plugin: string): number {
    const known = this.#numbers.get(plugin);
    if (known !== undefined) return known;
    const number = this.#numbers.size + 1;
    if (number > NAMES) return 0;
    this.#numbers.set(plugin, number);
    const start = (number - 1) * NAME_SIZE;
    this.#names[start] = plugin.length;
    this.#names.set(Buffer.from(plugin, "latin1"), start + 1);
    return number;
  }
}
