import type { Metric } from "prom-client";
import { readWhenAsked } from "../../support/metrics/families.ts";
import { Histogram, type MetricValue } from "../../support/metrics/histogram.ts";

/**
 * The counters of every call, kept in plain numbers: prom-client's own counters hash their labels each time, which
 * costs more than a trusted call. The registry reads them as any other metric.
 */

interface PluginCalls {
  duration: Histogram;
  /** action → outcome → calls */
  outcomes: Map<string, Map<string, number>>;
}

const COUNTER = { name: "sealift_calls_total", help: "Calls of plugin actions, by outcome" };
const HISTOGRAM = { name: "sealift_call_duration_seconds", help: "How long calls of plugin actions took" };

export class CallStatistics {
  readonly #plugins = new Map<string, PluginCalls>();

  note(plugin: string, action: string, outcome: string, milliseconds: number): void {
    let calls = this.#plugins.get(plugin);
    if (calls === undefined) {
      calls = { duration: new Histogram(), outcomes: new Map() };
      this.#plugins.set(plugin, calls);
    }
    let outcomes = calls.outcomes.get(action);
    if (outcomes === undefined) calls.outcomes.set(action, (outcomes = new Map<string, number>()));
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    calls.duration.note(milliseconds);
  }

  /** For a prom-client registry, which asks each metric for its values when somebody looks. */
  metrics(): Metric[] {
    return [
      readWhenAsked("counter", COUNTER, () => this.#counts()),
      readWhenAsked("histogram", HISTOGRAM, () => this.#durations()),
    ];
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
    return [...this.#plugins].flatMap(([plugin, { duration }]) => duration.values(HISTOGRAM.name, { plugin }));
  }
}
