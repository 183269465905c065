import { Counts, Durations, gauge, processMetrics } from "../../support/metrics/families.ts";
import type { MetricValue } from "../../support/metrics/histogram.ts";
import { type MetricsListener, serveMetrics } from "../../support/metrics/listener.ts";
import type { EmitWatch, WatchEvent } from "./events.ts";

/** The facts of one target, from its events. */
interface TargetFacts {
  running: string | null;
  latest: string | null;
  paused: boolean;
  held: boolean;
  /** Checks and deployments that failed, one after the other. */
  failures: number;
  /** Seconds since 1970. */
  checkedAt: number | undefined;
}

/** The numbers of a watch, as the sum of its events (docs/metrics.md). */
export class WatchMetrics {
  readonly #targets = new Map<string, TargetFacts>();
  readonly #checks = new Counts("sealift_watch_checks_total", "Checks of targets, by outcome", ["outcome"]);
  readonly #failures = new Counts("sealift_watch_failures_total", "Checks and deployments that failed, by error code", [
    "code",
  ]);
  readonly #deployments = new Counts("sealift_watch_deployments_total", "Deployments, by outcome", ["outcome"]);
  readonly #durations = new Durations("sealift_watch_deployment_duration_seconds", "Time of deployments", ["outcome"]);
  readonly #bytes = new Counts("sealift_watch_downloaded_bytes_total", "Bytes of artifacts and archives", []);
  readonly #deltas = new Counts("sealift_watch_deltas_total", "Deltas that were taken, by outcome", ["outcome"]);
  readonly #warnings = new Counts("sealift_watch_warnings_total", "Warnings of the loop and of deployments", []);

  /** Takes an event in; times are milliseconds since 1970. */
  apply(event: WatchEvent, now: number): void {
    switch (event.event) {
      case "watch.started":
        return this.#begin(event.targets);
      case "check.done":
        this.#checks.add(["done"]);
        return this.#update(event.target, {
          running: event.running_version,
          latest: event.latest_version,
          failures: 0,
          held: false,
          checkedAt: now / 1000,
        });
      case "check.failed":
        this.#checks.add(["failed"]);
        this.#failures.add([event.code]);
        return this.#update(event.target, { failures: event.failures });
      case "target.held":
        return this.#update(event.target, { held: true });
      case "target.paused":
      case "target.resumed":
        return this.#update(event.target, { paused: event.event === "target.paused" });
      case "fetch.done":
        return this.#bytes.add([], event.bytes);
      case "delta.chosen":
        return this.#deltas.add(["chosen"]);
      case "delta.failed":
        return this.#deltas.add(["failed"]);
      case "deploy.done":
        this.#deployments.add([event.outcome]);
        this.#durations.note([event.outcome], event.duration_ms);
        if (event.code !== null) this.#failures.add([event.code]);
        else this.#update(event.target, { running: event.version });
        return;
      case "watch.warning":
      case "warning":
        return this.#warnings.add([]);
      default:
        return;
    }
  }

  #begin(targets: Extract<WatchEvent, { event: "watch.started" }>["targets"]): void {
    const names = new Set(targets.map(({ target }) => target));
    for (const name of this.#targets.keys()) if (!names.has(name)) this.#targets.delete(name);
    for (const { target, running_version: running, latest_version: latest, paused } of targets) {
      const known = this.#targets.get(target) ?? { held: false, failures: 0, checkedAt: undefined };
      this.#targets.set(target, { ...known, running, latest, paused });
    }
  }

  #update(name: string, changes: Partial<TargetFacts>): void {
    const known = this.#targets.get(name);
    if (known !== undefined) Object.assign(known, changes);
  }

  #ofTargets(value: (facts: TargetFacts) => number | undefined): MetricValue[] {
    return [...this.#targets].flatMap(([target, facts]) => {
      const measured = value(facts);
      return measured === undefined ? [] : [{ labels: { target }, value: measured }];
    });
  }

  /** All metrics, for a listener. */
  all() {
    const counters = [this.#checks, this.#failures, this.#deployments, this.#bytes, this.#deltas, this.#warnings];
    const flag = (yes: boolean): number => (yes ? 1 : 0);
    return [
      gauge("sealift_watch_targets", "Targets that are watched", () => this.#targets.size),
      gauge("sealift_watch_target_current", "1 for a target that runs its latest version", () =>
        this.#ofTargets(({ running, latest }) => flag(latest === null || running === latest)),
      ),
      gauge("sealift_watch_target_failures", "Checks and deployments of a target that failed in a row", () =>
        this.#ofTargets(({ failures }) => failures),
      ),
      gauge("sealift_watch_target_held", "1 for a target whose latest version is not followed", () =>
        this.#ofTargets(({ held, paused }) => flag(held || paused)),
      ),
      gauge("sealift_watch_target_checked_timestamp_seconds", "When a target was last checked, since 1970", () =>
        this.#ofTargets(({ checkedAt }) => checkedAt),
      ),
      ...counters.map((counter) => counter.metric()),
      this.#durations.metric(),
      ...processMetrics(),
    ];
  }
}

/**
 * Serves the numbers of a watch at `/metrics`.
 *
 * @returns the listener, and the function that takes the events in
 * @throws UsageError `usage` for an address that cannot be listened on
 */
export async function serveWatchMetrics(
  listen: { host: string; port: number },
  { warn }: { warn: (message: string) => void },
): Promise<MetricsListener & { observe: EmitWatch }> {
  const metrics = new WatchMetrics();
  const listener = await serveMetrics({
    listen,
    metrics: metrics.all(),
    onFailure: (error) => warn(`The metrics could not be measured: ${String(error)}`),
  });
  return {
    url: listener.url,
    observe: (event) => metrics.apply(event, Date.now()),
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  };
}
