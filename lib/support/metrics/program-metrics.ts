import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { descriptors } from "../descriptors.ts";

/** Upper bounds of the buckets of durations, in seconds. */
export const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Measured value, or one for each combination of labels. */
type Measured<L extends string> = number | undefined | { labels: Record<L, string>; value: number }[];

/** Metrics of one program: its own, and those common to every program. */
export class ProgramMetrics {
  readonly registry = new Registry();

  constructor() {
    this.gauge("sealift_uptime_seconds", "Seconds since the program started", () => process.uptime());
    this.gauge("sealift_process_resident_memory_bytes", "Resident memory of the program", () =>
      process.memoryUsage.rss(),
    );
    this.gauge(
      "sealift_process_open_descriptors",
      "Files and sockets of the program",
      async () => (await descriptors())?.open,
    );
    this.gauge(
      "sealift_process_descriptors_limit",
      "Most files and sockets of the program",
      async () => (await descriptors())?.limit,
    );
    this.gauge(
      "sealift_event_loop_utilization",
      "Part of its life that the event loop was busy, from 0 to 1",
      () => performance.eventLoopUtilization().utilization,
    );
  }

  counter<L extends string = never>(name: string, help: string, labelNames: readonly L[] = []): Counter<L> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  /** Adds a counter that is read at each scrape, because somebody else keeps it, such as the kernel. */
  counterOf(name: string, help: string, read: () => number | undefined | Promise<number | undefined>): void {
    new Counter({
      ...{ name, help, registers: [this.registry] },
      async collect() {
        const value = await read();
        this.reset();
        if (value === undefined) this.remove();
        else this.inc(value);
      },
    });
  }

  /** Adds a histogram of durations in seconds. */
  durations<L extends string>(name: string, help: string, labelNames: readonly L[]): Histogram<L> {
    return new Histogram({ name, help, labelNames, buckets: DURATION_BUCKETS, registers: [this.registry] });
  }

  /** Adds a gauge that is measured at each scrape. An undefined value is left out. */
  gauge<L extends string = never>(
    name: string,
    help: string,
    measure: () => Measured<L> | Promise<Measured<L>>,
    labelNames: readonly L[] = [],
  ): void {
    new Gauge<L>({
      ...{ name, help, labelNames, registers: [this.registry] },
      async collect() {
        const measured = await measure();
        this.reset();
        if (measured === undefined) this.remove();
        else if (typeof measured === "number") this.set(measured);
        else for (const { labels, value } of measured) this.set(labels, value);
      },
    });
  }
}
