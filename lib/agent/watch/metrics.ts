import { Counts, Durations, gauge, processMetrics } from "../../support/metrics/families.ts";
import type { MetricValue } from "../../support/metrics/histogram.ts";
import { type MetricsListener, serveMetrics } from "../../support/metrics/listener.ts";
import type { EmitWatch, WatchEvent } from "./events.ts";
import { isHeldBack, stateOf, type TargetFacts, TargetStates } from "./target-state.ts";

/** The numbers of a watch, as the sum of its events (docs/metrics.md). */
export class WatchMetrics {
  readonly #targets = new TargetStates();
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
    this.#targets.apply(event, now);
    switch (event.event) {
      case "check.done":
        return this.#checks.add(["done"]);
      case "check.failed":
        this.#checks.add(["failed"]);
        return this.#failures.add([event.code]);
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
        return;
      case "watch.warning":
      case "warning":
        return this.#warnings.add([]);
      default:
        return;
    }
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
      gauge("sealift_watch_target_state", "1 for the state that a target is in", () =>
        [...this.#targets].map(([target, facts]) => ({ labels: { target, state: stateOf(facts) }, value: 1 })),
      ),
      gauge("sealift_watch_target_current", "1 for a target that runs its latest version", () =>
        this.#ofTargets(({ running, latest }) => flag(latest === null || running === latest)),
      ),
      gauge("sealift_watch_target_failures", "Checks and deployments of a target that failed in a row", () =>
        this.#ofTargets(({ failures }) => failures),
      ),
      gauge("sealift_watch_target_held", "1 for a target that is paused, pinned, or whose latest version is held", () =>
        this.#ofTargets((facts) => flag(isHeldBack(facts))),
      ),
      gauge("sealift_watch_target_checked_timestamp_seconds", "When a target was last checked, since 1970", () =>
        this.#ofTargets(({ checkedAt }) => checkedAt && checkedAt / 1000),
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
