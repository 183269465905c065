import type { Metric } from "prom-client";
import { descriptors } from "../descriptors.ts";
import { Histogram, type Labels, type MetricValue } from "./histogram.ts";

/** Metrics that are kept in plain numbers, and given to prom-client only when somebody looks. */

export interface MetricFacts {
  name: string;
  help: string;
}

type MetricType = "counter" | "gauge" | "histogram";

/** Returns a metric whose values are made when a prom-client registry asks for them. */
export function readWhenAsked(
  type: MetricType,
  facts: MetricFacts,
  values: () => MetricValue[] | Promise<MetricValue[]>,
): Metric {
  const get = async () => ({ ...facts, type, aggregator: "sum", values: await values() });
  return { ...facts, type, get, reset: () => undefined } as unknown as Metric;
}

/**
 * One value for each combination of labels. A combination is one text while it is looked up, so labels are few and
 * short.
 */
abstract class Family<L extends string, V> {
  readonly facts: MetricFacts;
  readonly #labels: readonly L[];
  readonly #series = new Map<string, V>();

  /** @param labels the names of the labels, in the order in which their values are given */
  constructor(name: string, help: string, labels: readonly L[]) {
    this.facts = { name, help };
    this.#labels = labels;
  }

  protected abstract create(): V;
  abstract metric(): Metric;

  /** The value of a combination of labels. A caller that counts often keeps it, and saves the look-up. */
  at(values: readonly string[]): V {
    const key = values.length === 1 ? values[0]! : values.join("\0");
    let value = this.#series.get(key);
    if (value === undefined) this.#series.set(key, (value = this.create()));
    return value;
  }

  protected *entries(): Generator<[Labels, V]> {
    for (const [key, value] of this.#series) {
      const values = key.split("\0");
      yield [Object.fromEntries(this.#labels.map((label, index) => [label, values[index]!])), value];
    }
  }
}

/** One counter of a family. */
export interface Count {
  count: number;
}

/** A counter with labels. */
export class Counts<L extends string> extends Family<L, Count> {
  protected override create(): Count {
    return { count: 0 };
  }

  add(values: readonly string[], by = 1): void {
    this.at(values).count += by;
  }

  metric(): Metric {
    return readWhenAsked("counter", this.facts, () =>
      [...this.entries()].map(([labels, { count }]) => ({ labels, value: count })),
    );
  }
}

/** A histogram of durations with labels. */
export class Durations<L extends string> extends Family<L, Histogram> {
  protected override create(): Histogram {
    return new Histogram();
  }

  /** Adds a duration in milliseconds. */
  note(values: readonly string[], milliseconds: number): void {
    this.at(values).note(milliseconds);
  }

  metric(): Metric {
    return readWhenAsked("histogram", this.facts, () =>
      [...this.entries()].flatMap(([labels, histogram]) => histogram.values(this.facts.name, labels)),
    );
  }
}

type Measured = number | undefined | MetricValue[];
type Measure = () => Measured | Promise<Measured>;

const measuredAs =
  (type: MetricType) =>
  (name: string, help: string, measure: Measure): Metric =>
    readWhenAsked(type, { name, help }, async () => {
      const measured = await measure();
      if (Array.isArray(measured)) return measured;
      return measured === undefined ? [] : [{ value: measured, labels: {} }];
    });

/** A gauge that is measured when somebody looks; a value that is undefined is left out. */
export const gauge = measuredAs("gauge");

/** A counter that somebody else keeps, such as the kernel; otherwise as {@link gauge}. */
export const counter = measuredAs("counter");

/** The numbers that every program of ours has of its process. */
export function processMetrics(): Metric[] {
  return [
    gauge("sealift_uptime_seconds", "Seconds since the program started", () => process.uptime()),
    gauge("sealift_process_resident_memory_bytes", "Resident memory of the program", () => process.memoryUsage.rss()),
    gauge(
      "sealift_process_open_descriptors",
      "Files and sockets of the program",
      async () => (await descriptors())?.open,
    ),
    gauge(
      "sealift_process_descriptors_limit",
      "Most files and sockets of the program",
      async () => (await descriptors())?.limit,
    ),
    gauge(
      "sealift_event_loop_utilization",
      "Part of its life that the event loop was busy, from 0 to 1",
      () => performance.eventLoopUtilization().utilization,
    ),
  ];
}
