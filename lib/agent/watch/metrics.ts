import { type MetricsListener, serveMetrics } from "../../support/metrics/listener.ts";
import { ProgramMetrics } from "../../support/metrics/program-metrics.ts";
import type { EmitWatch, WatchEvent } from "./events.ts";
import { isHeldBack, stateOf, type TargetFacts, TargetStates } from "./target-state.ts";

/** Metrics of a watch, computed from its events (docs/metrics.md). */
export class WatchMetrics extends ProgramMetrics {
  readonly #targets = new TargetStates();
  readonly #checks = this.counter("sealift_watch_checks_total", "Checks of targets, by outcome", ["outcome"]);
  readonly #failures = this.counter(
    "sealift_watch_failures_total",
    "Checks and deployments that failed, by error code",
    ["code"],
  );
  readonly #deployments = this.counter("sealift_watch_deployments_total", "Deployments, by outcome", ["outcome"]);
  readonly #durations = this.durations("sealift_watch_deployment_duration_seconds", "Time of deployments", ["outcome"]);
  readonly #bytes = this.counter("sealift_watch_downloaded_bytes_total", "Bytes of artifacts and archives");
  readonly #deltas = this.counter("sealift_watch_deltas_total", "Deltas that were taken, by outcome", ["outcome"]);
  readonly #warnings = this.counter("sealift_watch_warnings_total", "Warnings of the loop and of deployments");

  readonly #hints = new Map<string, boolean>();

  constructor() {
    super();
    const flag = (yes: boolean): number => (yes ? 1 : 0);
    this.gauge("sealift_watch_targets", "Targets that are watched", () => this.#targets.size);
    this.gauge(
      "sealift_watch_target_state",
      "1 for the state that a target is in",
      () => [...this.#targets].map(([target, facts]) => ({ labels: { target, state: stateOf(facts) }, value: 1 })),
      ["target", "state"],
    );
    this.gauge(
      "sealift_watch_hints_connected",
      "1 for a hub that hints at changes, 0 for one that is only polled for now",
      () => [...this.#hints].map(([hub, isConnected]) => ({ labels: { hub }, value: flag(isConnected) })),
      ["hub"],
    );
    this.#ofTargets(
      "sealift_watch_target_current",
      "1 for a target that runs its latest version",
      ({ running, latest }) => flag(latest === null || running === latest),
    );
    this.#ofTargets(
      "sealift_watch_target_failures",
      "Checks and deployments of a target that failed in a row",
      ({ failures }) => failures,
    );
    this.#ofTargets(
      "sealift_watch_target_held",
      "1 for a target that is paused, pinned, or whose latest version is held",
      (facts) => flag(isHeldBack(facts)),
    );
    this.#ofTargets(
      "sealift_watch_target_unhealthy",
      "1 for a target whose running version is unhealthy after its deployment",
      ({ unhealthy }) => flag(unhealthy !== undefined),
    );
    this.#ofTargets(
      "sealift_watch_target_checked_timestamp_seconds",
      "When a target was last checked, since 1970",
      ({ checkedAt }) => checkedAt && checkedAt / 1000,
    );
  }

  #ofTargets(name: string, help: string, value: (facts: TargetFacts) => number | undefined): void {
    const measure = () =>
      [...this.#targets].flatMap(([target, facts]) => {
        const measured = value(facts);
        return measured === undefined ? [] : [{ labels: { target }, value: measured }];
      });
    this.gauge(name, help, measure, ["target"]);
  }

  /** Applies an event; times are milliseconds since 1970. */
  apply(event: WatchEvent, now: number): void {
    this.#targets.apply(event, now);
    switch (event.event) {
      case "check.done":
        return this.#checks.inc({ outcome: "done" });
      case "check.failed":
        this.#checks.inc({ outcome: "failed" });
        return this.#failures.inc({ code: event.code });
      case "fetch.done":
        return this.#bytes.inc(event.bytes - (event.kept_bytes ?? 0));
      case "hints.connected":
      case "hints.lost":
        return void this.#hints.set(event.hub, event.event === "hints.connected");
      case "delta.chosen":
        return this.#deltas.inc({ outcome: "chosen" });
      case "delta.failed":
        return this.#deltas.inc({ outcome: "failed" });
      case "deploy.done":
        this.#deployments.inc({ outcome: event.outcome });
        this.#durations.observe({ outcome: event.outcome }, event.duration_ms / 1000);
        if (event.code !== null) this.#failures.inc({ code: event.code });
        return;
      case "watch.warning":
      case "warning":
        return this.#warnings.inc();
      default:
        return;
    }
  }
}

/**
 * Serves the metrics of a watch at `/metrics`.
 *
 * @returns the listener, and the function that applies events
 * @throws UsageError `usage` for an address that cannot be listened on
 */
export async function serveWatchMetrics(
  listen: { host: string; port: number },
  { warn }: { warn: (message: string) => void },
): Promise<MetricsListener & { observe: EmitWatch }> {
  const metrics = new WatchMetrics();
  const listener = await serveMetrics({
    listen,
    registry: metrics.registry,
    onFailure: (error) => warn(`The metrics could not be measured: ${String(error)}`),
  });
  return {
    url: listener.url,
    observe: (event) => metrics.apply(event, Date.now()),
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  };
}
