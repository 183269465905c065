import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { MetricsAnswer } from "../../contract/surfaces/runtime.ts";
import { DURATION_BUCKETS } from "../../support/metrics/program-metrics.ts";

/** The runtime's numbers: one registry, read as Prometheus text and as the JSON snapshot of surface C. */

/** Figures that are measured when somebody looks, not when they change. */
export interface Observed {
  plugins: {
    name: string;
    state: string;
    memoryBytes?: number;
    generations?: number;
    generationBytes?: number;
    /** Of a plugin that runs in more than one process. */
    instances?: readonly { memoryBytes: number; inFlight: number; serving: boolean }[];
  }[];
  callsInFlight: number;
}

/** Hosts of one plugin that refusals are counted by. */
const MAX_DENIED_HOSTS = 50;

export class Metrics {
  readonly #registry = new Registry();
  readonly #calls = this.#counter("sealift_calls_total", "Calls of plugin actions, by outcome", [
    "plugin",
    "action",
    "outcome",
  ]);
  readonly #durations = new Histogram({
    name: "sealift_call_duration_seconds",
    help: "How long calls of plugin actions took",
    labelNames: ["plugin"],
    buckets: DURATION_BUCKETS,
    registers: [this.#registry],
  });
  readonly #restarts = this.#counter("sealift_plugin_restarts_total", "Restarts of sandbox processes", ["plugin"]);
  readonly #lifecycle = this.#counter("sealift_plugin_lifecycle_total", "Loads, reloads and unloads, by outcome", [
    "plugin",
    "operation",
    "outcome",
  ]);
  readonly #dropped = this.#counter("sealift_frames_dropped_total", "Frames of sandboxes that were dropped", [
    "plugin",
    "reason",
  ]);
  readonly #denied = this.#counter("sealift_network_denied_total", "Connections that were refused to sandboxes", [
    "plugin",
    "host",
  ]);
  readonly #deniedHosts = new Map<string, Set<string>>();
  readonly #blocked = this.#counter("sealift_event_loop_blocked_total", "How often the event loop was blocked", []);
  readonly #uncaught = this.#counter("sealift_uncaught_errors_total", "Errors that trusted plugins did not catch", []);
  readonly #blockedSeconds = this.#gauge("sealift_event_loop_blocked_seconds", "How long the last blockage took", []);

  /** Adds the gauges that are read when somebody looks. */
  observe(observe: () => Observed): void {
    const states = this.#gauge("sealift_plugins", "Plugins, by state", ["state"]);
    const up = this.#gauge("sealift_plugin_up", "1 for a plugin that is loaded", ["plugin"]);
    const memory = this.#gauge("sealift_plugin_memory_bytes", "Resident memory of sandboxes", ["plugin"]);
    const generations = this.#gauge("sealift_plugin_generations", "Generations of ES modules that Node holds", [
      "plugin",
    ]);
    const held = this.#gauge("sealift_plugin_generation_bytes", "Source bytes of those generations", ["plugin"]);
    const ofInstance = ["plugin", "instance"];
    const instanceUp = this.#gauge("sealift_plugin_instance_up", "1 for an instance that serves", ofInstance);
    const instanceMemory = this.#gauge("sealift_plugin_instance_memory_bytes", "Its resident memory", ofInstance);
    const instanceCalls = this.#gauge("sealift_plugin_instance_calls_in_flight", "Its open calls", ofInstance);
    const inFlight = this.#gauge("sealift_calls_in_flight", "Calls that have not ended", []);
    const resident = this.#gauge("sealift_process_resident_memory_bytes", "Resident memory of the runtime", []);
    new Gauge({
      name: "sealift_uptime_seconds",
      help: "Seconds since the runtime started",
      registers: [this.#registry],
      collect() {
        this.set(process.uptime());
        const { plugins, callsInFlight } = observe();
        for (const gauge of [states, up, memory, generations, held, instanceUp, instanceMemory, instanceCalls])
          gauge.reset();
        for (const state of ["loaded", "idle", "error"]) {
          states.set({ state }, plugins.filter((plugin) => plugin.state === state).length);
        }
        for (const { name, instances = [] } of plugins) {
          for (const [index, { serving, memoryBytes, inFlight: open }] of instances.entries()) {
            const labels = { plugin: name, instance: String(index) };
            instanceUp.set(labels, serving ? 1 : 0);
            instanceMemory.set(labels, memoryBytes);
            instanceCalls.set(labels, open);
          }
        }
        for (const { name, state, memoryBytes, generations: count, generationBytes } of plugins) {
          up.set({ plugin: name }, state === "loaded" ? 1 : 0);
          if (memoryBytes !== undefined) memory.set({ plugin: name }, memoryBytes);
          if (count !== undefined) generations.set({ plugin: name }, count);
          if (generationBytes !== undefined) held.set({ plugin: name }, generationBytes);
        }
        inFlight.set(callsInFlight);
        resident.set(process.memoryUsage.rss());
      },
    });
  }

  /** @param action one of the plugin's own, so that labels stay few; @param outcome `ok` or an error code */
  called(plugin: string, action: string, outcome: string, milliseconds: number): void {
    this.#calls.inc({ plugin, action, outcome });
    this.#durations.observe({ plugin }, milliseconds / 1000);
  }

  restarted(plugin: string): void {
    this.#restarts.inc({ plugin });
  }

  lifecycle(plugin: string, operation: "load" | "reload" | "unload", outcome: string): void {
    this.#lifecycle.inc({ plugin, operation, outcome });
  }

  dropped(plugin: string, reason: string): void {
    this.#dropped.inc({ plugin, reason });
  }

  /** Counts a refusal of the network. A plugin chooses the names: only the first ones get a label of their own. */
  denied(plugin: string, host: string): void {
    const hosts = this.#deniedHosts.get(plugin) ?? new Set();
    this.#deniedHosts.set(plugin, hosts);
    if (hosts.size < MAX_DENIED_HOSTS) hosts.add(host);
    this.#denied.inc({ plugin, host: hosts.has(host) ? host : "others" });
  }

  loopBlocked(seconds: number): void {
    this.#blocked.inc();
    this.#blockedSeconds.set(seconds);
  }

  uncaught(): void {
    this.#uncaught.inc();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  prometheus(): Promise<string> {
    return this.#inOrder(() => this.#registry.metrics());
  }

  /** The same numbers; names carry their labels as in Prometheus text. */
  async snapshot(): Promise<MetricsAnswer> {
    const answer: MetricsAnswer = { counters: {}, gauges: {}, histograms: {} };
    for (const { name, type, values } of await this.#inOrder(() => this.#registry.getMetricsAsJSON())) {
      // prom-client's own type says strings; the values are the enum's texts.
      const kind = String(type);
      for (const value of values as { value: number; labels: Record<string, string | number>; metricName?: string }[]) {
        const { le, ...labels } = value.labels;
        const key = `${name}${labelText(labels)}`;
        if (kind === "counter") answer.counters[key] = value.value;
        else if (kind === "gauge") answer.gauges[key] = value.value;
        else {
          const histogram = (answer.histograms[key] ??= { count: 0, sum: 0, buckets: {} });
          if (value.metricName?.endsWith("_sum")) histogram.sum = value.value;
          else if (value.metricName?.endsWith("_count")) histogram.count = value.value;
          else histogram.buckets[String(le)] = value.value;
        }
      }
    }
    return answer;
  }

  /** The observed gauges are set by the collection of one of them: it must have run before the others are read. */
  async #inOrder<T>(read: () => Promise<T>): Promise<T> {
    await this.#registry.getSingleMetric("sealift_uptime_seconds")?.get();
    return read();
  }

  #counter(name: string, help: string, labelNames: string[]): Counter {
    return new Counter({ name, help, labelNames, registers: [this.#registry] });
  }

  #gauge(name: string, help: string, labelNames: string[]): Gauge {
    return new Gauge({ name, help, labelNames, registers: [this.#registry] });
  }
}

function labelText(labels: Record<string, string | number>): string {
  const entries = Object.entries(labels);
  return entries.length === 0
    ? ""
    : `{${entries.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(",")}}`;
}
