/**
 * A histogram of durations in plain numbers: prom-client's own hashes its labels at each observation, which costs
 * more than what is measured here.
 */

/** Upper ends of the buckets, in seconds. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const MILLISECONDS = BUCKETS.map((seconds) => seconds * 1000);

export type Labels = Record<string, string | number>;

/** One line of a metric, as prom-client's registry reads it. */
export interface MetricValue {
  value: number;
  labels: Labels;
  metricName?: string;
}

export class Histogram {
  #count = 0;
  /** Milliseconds. */
  #sum = 0;
  /** Observations by bucket, not summed up; the last one is beyond all. */
  readonly #buckets = BUCKETS.map(() => 0).concat(0);

  /** Adds a duration in milliseconds. */
  note(milliseconds: number): void {
    this.#count++;
    this.#sum += milliseconds;
    let bucket = 0;
    while (bucket < MILLISECONDS.length && milliseconds > MILLISECONDS[bucket]!) bucket++;
    this.#buckets[bucket]!++;
  }

  /** Returns the lines of Prometheus: buckets summed up, sum in seconds, count. */
  values(name: string, labels: Labels): MetricValue[] {
    let value = 0;
    const buckets = [...BUCKETS, "+Inf"].map((le, index) => {
      value += this.#buckets[index]!;
      return { value, labels: { le, ...labels }, metricName: `${name}_bucket` };
    });
    return [
      ...buckets,
      { value: this.#sum / 1000, labels, metricName: `${name}_sum` },
      { value: this.#count, labels, metricName: `${name}_count` },
    ];
  }
}
