import type { Metric } from "prom-client";

/**
 * What is counted on every call, kept in plain numbers: prom-client's own counters hash their labels each time, which costs more
 * than a trusted call. The registry reads them as any other metric.
 */

/** Seconds. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const MILLISECONDS = BUCKETS.map((seconds) => seconds * 1000);

interface Duration {
  count: number;
  sum: number;
  /** Calls by bucket, not summed up; the last one is beyond all. */
  buckets: number[];
}

interface PluginCalls {
  duration: Duration;
  /** action → outcome → calls */
  outcomes: Map<string, Map<string, number>>;
}

interface MetricValue {
  value: number;
  labels: Record<string, string | number>;
  metricName?: string;
}

const COUNTER = { name: "sealift_calls_total", help: "Calls of plugin actions, by outcome", type: "counter" };
const HISTOGRAM = {
  name: "sealift_call_duration_seconds",
  help: "How long calls of plugin actions took",
  type: "histogram",
};

export class CallStatistics {
  readonly #plugins = new Map<string, PluginCalls>();

  note(plugin: string, action: string, outcome: string, milliseconds: number): void {
    let calls = this.#plugins.get(plugin);
    if (calls === undefined) {
      calls = { duration: { count: 0, sum: 0, buckets: BUCKETS.map(() => 0).concat(0) }, outcomes: new Map() };
      this.#plugins.set(plugin, calls);
    }
    let outcomes = calls.outcomes.get(action);
    if (outcomes === undefined) calls.outcomes.set(action, (outcomes = new Map<string, number>()));
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    const { duration } = calls;
    duration.count++;
    duration.sum += milliseconds;
    let bucket = 0;
    while (bucket < MILLISECONDS.length && milliseconds > (MILLISECONDS[bucket] as number)) bucket++;
    duration.buckets[bucket] = (duration.buckets[bucket] as number) + 1;
  }

  /** For a prom-client registry, which asks each metric for its values when somebody looks. */
  metrics(): Metric[] {
    const readable = (facts: typeof COUNTER, values: () => MetricValue[]): Metric => {
      const get = () => Promise.resolve({ ...facts, aggregator: "sum", values: values() });
      return { ...facts, get, reset: () => undefined } as unknown as Metric;
    };
    return [readable(COUNTER, () => this.#counts()), readable(HISTOGRAM, () => this.#durations())];
  }

  #counts(): MetricValue[] {
    const values: MetricValue[] = [];
    for (const [plugin, { outcomes }] of this.#plugins) {
      for (const [action, counts] of outcomes) {
        for (const [outcome, value] of counts) values.push({ value, labels: { plugin, action, outcome } });
      }
    }
    return values;
  }

  #durations(): MetricValue[] {
    const values: MetricValue[] = [];
    const { name } = HISTOGRAM;
    for (const [plugin, { duration }] of this.#plugins) {
      let value = 0;
      for (const [index, le] of [...BUCKETS, "+Inf"].entries()) {
        value += duration.buckets[index] ?? 0;
        values.push({ value, labels: { le, plugin }, metricName: `${name}_bucket` });
      }
      values.push({ value: duration.sum / 1000, labels: { plugin }, metricName: `${name}_sum` });
      values.push({ value: duration.count, labels: { plugin }, metricName: `${name}_count` });
    }
    return values;
  }
}
