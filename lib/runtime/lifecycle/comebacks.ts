import type { PluginSlot } from "../catalogue/plugin-slot.ts";

/** Longest pause, in seconds. */
const MAX_PAUSE_SECONDS = 3600;

/** Restarts plugins whose process ended too often, after pauses that double each time. */
export class Comebacks implements Disposable {
  readonly #firstSeconds: number;
  readonly #load: (slot: PluginSlot) => Promise<void>;
  readonly #times = new Map<PluginSlot, number>();
  readonly #timers = new Map<PluginSlot, NodeJS.Timeout>();

  /**
   * @param firstSeconds first pause, which applies again after a plugin has run for twice as long
   * @param load loads a plugin
   */
  constructor(firstSeconds: number, load: (slot: PluginSlot) => Promise<void>) {
    this.#firstSeconds = firstSeconds;
    this.#load = load;
  }

  /** Schedules a plugin to be loaded after a pause. @returns when, as a phrase to end a message with */
  schedule(slot: PluginSlot): string {
    if (slot.uptimeSeconds > 2 * this.#firstSeconds) this.#times.delete(slot);
    const times = this.#times.get(slot) ?? 0;
    this.#times.set(slot, times + 1);
    const pauseMs = Math.min(this.#firstSeconds * 2 ** times, MAX_PAUSE_SECONDS) * 1000;
    clearTimeout(this.#timers.get(slot));
    const timer = setTimeout(() => {
      this.#stop(slot);
      void this.#load(slot);
    }, pauseMs);
    this.#timers.set(slot, timer.unref());
    slot.comesBackAt = performance.now() + pauseMs;
    return `It is started again at ${new Date(Date.now() + pauseMs).toISOString()}, or by a load.`;
  }

  /** Cancels a scheduled load: somebody has loaded or unloaded the plugin, or it is gone. */
  forget(slot: PluginSlot): void {
    this.#stop(slot);
    this.#times.delete(slot);
  }

  [Symbol.dispose](): void {
    for (const slot of this.#timers.keys()) this.#stop(slot);
  }

  #stop(slot: PluginSlot): void {
    clearTimeout(this.#timers.get(slot));
    this.#timers.delete(slot);
    slot.comesBackAt = undefined;
  }
}
