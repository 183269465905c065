import type { Logger } from "../../support/logging.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { PluginSlot } from "../catalogue/plugin-slot.ts";
import { messageOf } from "../guest/fault.ts";

/** Interval of checking which plugins are due, in milliseconds. */
const TICK_MS = 1000;

/** Checks the health of each loaded plugin at its own interval, and logs changes. */
export class HealthMonitor implements Disposable {
  readonly #catalogue: Catalogue;
  readonly #logger: Logger;
  readonly #due = new WeakMap<PluginSlot, number>();
  readonly #last = new WeakMap<PluginSlot, string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(catalogue: Catalogue, logger: Logger) {
    this.#catalogue = catalogue;
    this.#logger = logger;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const now = performance.now();
    for (const slot of this.#catalogue.all) {
      const settings = slot.descriptor?.runtime.health_check;
      if (!slot.instance || settings?.enabled !== true) continue;
      if ((this.#due.get(slot) ?? 0) > now) continue;
      this.#due.set(slot, now + settings.interval_seconds * 1000);
      void this.#check(slot, settings.timeout_seconds * 1000);
    }
  }

  async #check(slot: PluginSlot, timeoutMs: number): Promise<void> {
    const answer = await slot.instance?.health(timeoutMs).catch((error: unknown) => ({
      status: "unhealthy" as const,
      message: messageOf(error),
    }));
    if (answer === undefined || this.#last.get(slot) === answer.status) return;
    const isFirst = !this.#last.has(slot);
    this.#last.set(slot, answer.status);
    const level = answer.status === "healthy" ? "info" : "warn";
    if (!isFirst || level === "warn") {
      this.#logger[level]({ plugin: slot.name, status: answer.status }, `plugin health: ${answer.message}`);
    }
  }
}
