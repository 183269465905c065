import type { RuntimeCode } from "../../contract/surfaces/runtime.ts";
import { isWatched, traced } from "../../support/work.ts";
import type { CallFacts } from "../base/instance.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { Retry } from "../catalogue/plugin-slot.ts";
import { messageOf, RuntimeFault } from "../guest/fault.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { CallLog } from "./call-log.ts";

/**
 * Codes of failures that a retry may cure (descriptor, `runtime.retry`); after a time-out the caller has waited long
 * enough.
 */
const RETRIED: ReadonlySet<RuntimeCode> = new Set([
  "action_failed",
  "plugin_crashed",
  "memory_exceeded",
  "service_unavailable",
]);

/** Calls actions, for callers over HTTP, other plugins and scheduled jobs. */
export class Calls {
  readonly #catalogue: Catalogue;
  readonly #metrics: Metrics;
  readonly #log: CallLog;
  #inFlight = 0;

  constructor(catalogue: Catalogue, metrics: Metrics, log: CallLog) {
    this.#log = log;
    this.#catalogue = catalogue;
    this.#metrics = metrics;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /**
   * Runs an action and returns its result as JSON text, synchronously when nothing has to be awaited.
   * @throws RuntimeFault, directly or as the promise's rejection
   */
  call(plugin: string, action: string, payload: unknown, facts: CallFacts): string | Promise<string> {
    return isWatched() ? this.#traced(plugin, action, payload, facts) : this.#call(plugin, action, payload, facts);
  }

  #traced(plugin: string, action: string, payload: unknown, facts: CallFacts): Promise<string> {
    const attributes = { "sealift.plugin": plugin, "sealift.action": action, "sealift.request_id": facts.requestId };
    return traced(
      `call ${plugin} ${action}`,
      attributes,
      async ({ trace }) => this.#call(plugin, action, payload, { ...facts, trace }),
      // Requests of a sandbox arrive without the asynchronous context of the call.
      { parent: facts.trace ?? "around" },
    );
  }

  #call(plugin: string, action: string, payload: unknown, facts: CallFacts): string | Promise<string> {
    const slot = this.#catalogue.find(plugin);
    if (slot === undefined) throw new RuntimeFault("plugin_not_found", `There is no plugin ${plugin}.`);
    const { instance } = slot;
    if (instance === undefined) {
      const why = slot.fault ? `: ${slot.fault.message}` : ".";
      throw new RuntimeFault("not_loaded", `The plugin ${slot.name} is not loaded${why}`, slot.comeback());
    }
    if (!instance.actions.has(action)) {
      throw new RuntimeFault("action_not_found", `The plugin ${slot.name} has no action ${action}.`);
    }
    const started = performance.now();
    const { name } = slot;
    let result: string | Promise<string>;
    try {
      const wait = slot.rateLimit?.take() ?? 0;
      if (wait > 0) {
        const message = `${name} is called more often than its rate limit allows.`;
        throw new RuntimeFault("rate_limited", message, { retryAfterSeconds: wait });
      }
      const { retry } = slot;
      result =
        retry === undefined
          ? instance.call(action, payload, facts)
          : this.#repeat(retry, async () => (slot.instance ?? instance).call(action, payload, facts));
    } catch (error) {
      throw this.#note(name, action, facts, error, started);
    }
    if (typeof result === "string") {
      this.#done(name, action, facts, started);
      return result;
    }
    return this.#wait(name, action, facts, result, started);
  }

  async #wait(
    name: string,
    action: string,
    facts: CallFacts,
    result: Promise<string>,
    started: number,
  ): Promise<string> {
    this.#inFlight++;
    try {
      const text = await result;
      this.#done(name, action, facts, started);
      return text;
    } catch (error) {
      throw this.#note(name, action, facts, error, started);
    } finally {
      this.#inFlight--;
    }
  }

  #done(plugin: string, action: string, { requestId, trace }: CallFacts, started: number): void {
    const durationMs = performance.now() - started;
    this.#metrics.called(plugin, action, "ok", durationMs);
    this.#log.ended({ plugin, action, requestId, traceId: trace?.traceId, durationMs, fault: undefined });
  }

  #note(plugin: string, action: string, facts: CallFacts, error: unknown, started: number): RuntimeFault {
    const { requestId, trace } = facts;
    const fault =
      error instanceof RuntimeFault ? error : new RuntimeFault("internal", messageOf(error), { cause: error });
    const durationMs = performance.now() - started;
    this.#metrics.called(plugin, action, fault.code, durationMs);
    this.#log.ended({ plugin, action, requestId, traceId: trace?.traceId, durationMs, fault });
    return fault;
  }

  async #repeat({ max_attempts, backoff_seconds }: Retry, attempt: () => Promise<string>): Promise<string> {
    for (let left = max_attempts - 1; ; left--) {
      try {
        return await attempt();
      } catch (error) {
        if (left === 0 || !(error instanceof RuntimeFault) || !RETRIED.has(error.code)) throw error;
        if (backoff_seconds > 0) await new Promise((resolve) => setTimeout(resolve, backoff_seconds * 1000));
      }
    }
  }
}
