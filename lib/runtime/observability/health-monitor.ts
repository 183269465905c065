import type { Logger } from "../../support/logging.ts";
import { messageOf } from "../guest/fault.ts";
import type { PluginSlot } from "../lifecycle/plugin-slot.ts";
import type { Plugins } from "../lifecycle/plugins.ts";

/** Milliseconds between looks at which plugins are due. */
const TICK = 1000;

/** Asks each loaded plugin for its health at its own interval, and logs when the answer changes. */
export class HealthMonitor {
  readonly #plugins: Plugins;
  readonly #logger: Logger;
  readonly #due = new WeakMap<PluginSlot, number>();
  readonly #last = new WeakMap<PluginSlot, string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(plugins: Plugins, logger: Logger) {
    this.#plugins = plugins;
    this.#logger = logger;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#tick(), TICK).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const now = performance.now();
    for (const slot of this.#plugins.all) {
      const settings = slot.descriptor?.runtime.health_check;
      if (!slot.instance || settings?.enabled !== true) continue;
      if ((this.#due.get(slot) ?? 0) > now) continue;
      this.#due.set(slot, now + settings.interval_seconds * 1000);
      void this.#check(slot, settings.timeout_seconds * 1000);
    }
  }

  async #check(slot: PluginSlot, timeout: number): Promise<void> {
    const answer = await slot.instance?.health(timeout).catch((error: unknown) => ({
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
