import type { Worker } from "node:worker_threads";
import { startThread } from "../../support/thread.ts";
import { type Announce, NAME_SIZE, NAMES, SLOT, SLOTS, type WatchdogData } from "./watchdog-slots.ts";

/**
 * Returns the interval of ticks in milliseconds: each wakes two threads, so there are no more than the threshold
 * requires.
 */
const periodOf = (thresholdMs: number): number => Math.min(250, Math.max(20, thresholdMs / 8));

export interface Blockage {
  seconds: number;
  /** Trusted plugin whose synchronous code ran, if any. */
  plugin: string | undefined;
  /** Time when it was over, by `performance.now()`. */
  endedAtMs: number;
}

export type Guard = <T>(work: () => T) => T;

export interface WatchdogOptions {
  thresholdMs: number;
  announce: Announce;
  onBlocked: (blockage: Blockage) => void;
}

/**
 * Notices that the event loop was blocked. Its thread also notices a loop that is still blocked: it cannot stop the
 * trusted code, but names it in the log at once. Without such code there is no thread.
 */
export class Watchdog implements AsyncDisposable {
  last: Blockage | undefined;
  readonly #options: WatchdogOptions;
  readonly #slots = new Int32Array(new SharedArrayBuffer(SLOTS * 4));
  readonly #names = new Uint8Array(new SharedArrayBuffer(NAMES * NAME_SIZE));
  readonly #numbers = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  #thread: Worker | undefined;
  #seen = 0;
  #tickedAt = performance.now();

  constructor(options: WatchdogOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#tick(), periodOf(options.thresholdMs)).unref();
  }

  /** Starts the thread, once: other people's code is about to run in this process. */
  watchTrustedCode(): void {
    if (this.#thread !== undefined) return;
    const { thresholdMs, announce } = this.#options;
    const data: WatchdogData = {
      shared: this.#slots.buffer,
      names: this.#names.buffer,
      periodMs: periodOf(thresholdMs),
      thresholdMs,
      announce,
    };
    this.#thread = startThread(import.meta.url, "watchdog-worker", data);
    this.#thread.unref();
  }

  /** Returns a runner that attributes any block of the event loop to `plugin`. */
  guardOf(plugin: string): Guard {
    this.watchTrustedCode();
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
    this.#thread?.ref();
    await this.#thread?.terminate();
  }

  #tick(): void {
    const now = performance.now();
    const silentMs = now - this.#tickedAt;
    this.#tickedAt = now;
    Atomics.add(this.#slots, SLOT.pulse, 1);
    if (this.#thread !== undefined) this.#noticeTold();
    else if (silentMs >= this.#options.thresholdMs) this.#notice(Math.round(silentMs), undefined);
  }

  /** Records a blockage whose end the thread has seen. */
  #noticeTold(): void {
    const count = Atomics.load(this.#slots, SLOT.count);
    if (count === this.#seen) return;
    this.#seen = count;
    const number = Atomics.load(this.#slots, SLOT.culprit);
    const plugin = [...this.#numbers].find(([, known]) => known === number)?.[0];
    this.#notice(Atomics.load(this.#slots, SLOT.lastMs), plugin);
  }

  #notice(milliseconds: number, plugin: string | undefined): void {
    this.last = { seconds: milliseconds / 1000, plugin, endedAtMs: performance.now() };
    this.#options.onBlocked(this.last);
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
