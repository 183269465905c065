import type { MetricsAnswer } from "../../contract/surfaces/runtime.ts";
import { ProgramMetrics } from "../../support/metrics/program-metrics.ts";

/** Metrics of the runtime: one registry, read as Prometheus text and as the JSON snapshot of surface C. */

/** Figures that are measured whenever the metrics are read. */
export interface Observed {
  plugins: {
    name: string;
    state: string;
    memoryBytes?: number;
    generations?: number;
    generationBytes?: number;
    /** Processes of a plugin that runs in more than one. */
    instances?: readonly { memoryBytes: number; inFlight: number; serving: boolean }[];
  }[];
  callsInFlight: number;
}

/** Most hosts of one plugin with a refusal count of their own. */
const MAX_DENIED_HOSTS = 50;

type ObservedPlugin = Observed["plugins"][number];
type ObservedInstance = NonNullable<ObservedPlugin["instances"]>[number];

export class Metrics extends ProgramMetrics {
  readonly #calls = this.counter("sealift_calls_total", "Calls of plugin actions, by outcome", [
    "plugin",
    "action",
    "outcome",
  ]);
  readonly #durations = this.durations("sealift_call_duration_seconds", "How long calls of plugin actions took", [
    "plugin",
  ]);
  readonly #restarts = this.counter("sealift_plugin_restarts_total", "Restarts of sandbox processes", ["plugin"]);
  readonly #lifecycle = this.counter("sealift_plugin_lifecycle_total", "Loads, reloads and unloads, by outcome", [
    "plugin",
    "operation",
    "outcome",
  ]);
  readonly #dropped = this.counter("sealift_frames_dropped_total", "Frames of sandboxes that were dropped", [
    "plugin",
    "reason",
  ]);
  readonly #denied = this.counter("sealift_network_denied_total", "Connections that were refused to sandboxes", [
    "plugin",
    "host",
  ]);
  readonly #deniedHosts = new Map<string, Set<string>>();
  readonly #blocked = this.counter("sealift_event_loop_blocked_total", "How often the event loop was blocked");
  readonly #uncaught = this.counter("sealift_uncaught_errors_total", "Errors that trusted plugins did not catch");
  #blockedSeconds = 0;

  constructor() {
    super();
    const help = "How long the last blockage took";
    this.gauge("sealift_event_loop_blocked_seconds", help, () => this.#blockedSeconds);
  }

  /** Adds the gauges that are measured on reading. */
  observe(observe: () => Observed): void {
    const ofPlugins = (name: string, help: string, value: (plugin: ObservedPlugin) => number | undefined): void =>
      this.gauge(
        name,
        help,
        () =>
          observe().plugins.flatMap((plugin) => {
            const measured = value(plugin);
            return measured === undefined ? [] : [{ labels: { plugin: plugin.name }, value: measured }];
          }),
        ["plugin"],
      );
    const ofInstances = (name: string, help: string, value: (instance: ObservedInstance) => number): void =>
      this.gauge(
        name,
        help,
        () =>
          observe().plugins.flatMap(({ name: plugin, instances = [] }) =>
            instances.map((each, index) => ({ labels: { plugin, instance: String(index) }, value: value(each) })),
          ),
        ["plugin", "instance"],
      );
    const inState = (state: string) => observe().plugins.filter((plugin) => plugin.state === state).length;
    this.gauge(
      "sealift_plugins",
      "Plugins, by state",
      () => ["loaded", "idle", "error"].map((state) => ({ labels: { state }, value: inState(state) })),
      ["state"],
    );
    ofPlugins("sealift_plugin_up", "1 for a plugin that is loaded", ({ state }) => (state === "loaded" ? 1 : 0));
    ofPlugins("sealift_plugin_memory_bytes", "Resident memory of sandboxes", ({ memoryBytes }) => memoryBytes);
    const held = "Generations of ES modules that Node holds";
    ofPlugins("sealift_plugin_generations", held, ({ generations }) => generations);
    const source = "Source bytes of those generations";
    ofPlugins("sealift_plugin_generation_bytes", source, ({ generationBytes }) => generationBytes);
    const serves = "1 for an instance that serves";
    ofInstances("sealift_plugin_instance_up", serves, ({ serving }) => (serving ? 1 : 0));
    ofInstances("sealift_plugin_instance_memory_bytes", "Its resident memory", ({ memoryBytes }) => memoryBytes);
    ofInstances("sealift_plugin_instance_calls_in_flight", "Its open calls", ({ inFlight }) => inFlight);
    this.gauge("sealift_calls_in_flight", "Calls that have not ended", () => observe().callsInFlight);
  }

  /** Counts a call. @param action of the plugin, so that labels stay few; @param outcome `ok` or an error code */
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
    this.#blockedSeconds = seconds;
  }

  uncaught(): void {
    this.#uncaught.inc();
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  prometheus(): Promise<string> {
    return this.registry.metrics();
  }

  /** Returns the same figures as JSON; names carry their labels as in Prometheus text. */
  async snapshot(): Promise<MetricsAnswer> {
    const answer: MetricsAnswer = { counters: {}, gauges: {}, histograms: {} };
    for (const { name, type, values } of await this.registry.getMetricsAsJSON()) {
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
}

function labelText(labels: Record<string, string | number>): string {
  const entries = Object.entries(labels);
  return entries.length === 0
    ? ""
    : `{${entries.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(",")}}`;
}
