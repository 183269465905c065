import type { Logger } from "../../support/logging.ts";
import { type MetricsListener, serveMetrics } from "../../support/metrics/listener.ts";
import { ProgramMetrics } from "../../support/metrics/program-metrics.ts";
import type { Records } from "../records/port.ts";
import { countSessions } from "../records/sessions.ts";
import type { ReadinessCheck } from "../storage/readiness.ts";
import type { SweepResult } from "../storage/sweep.ts";
import { listenOverflows } from "./accept-queue.ts";

/** Answered request. */
export interface AnsweredRequest {
  method: string;
  /** Pattern of the route, never a path, to keep labels few. */
  route: string;
  status: number;
  /** Milliseconds; undefined for an answer that lasts as long as its client wants. */
  durationMs: number | undefined;
  /** Bytes of the body that were sent; undefined if unknown or incomplete. */
  sentBytes: number | undefined;
}

/** Parts of the hub that are measured at each scrape. */
interface Observed extends Records {
  keyring: { newestSince: string | undefined };
  connections: { numbers: { open: number; most: number | undefined; shed: number } };
  upkeep: { lastSweep: SweepResult | undefined; lastSweepAt: number | undefined };
  readiness: ReadinessCheck;
  gauges: readonly Gauge[];
}

type Series = { labels: Record<string, string>; value: number }[];

/** Number of a feature, read at each scrape. */
export type Gauge = { name: string; help: string } & (
  | { isCounter?: boolean; labels?: never; read(): number | undefined }
  | { isCounter?: never; labels: readonly string[]; read(): Promise<Series> }
);

/** Metrics of the hub (docs/metrics.md). A hub without a metrics listener has none, and never loads prom-client. */
export class HubMetrics {
  readonly #all = new ProgramMetrics();
  readonly #requests = this.#all.counter("sealift_hub_requests_total", "Requests by route and status", [
    "method",
    "route",
    "status",
  ]);
  readonly #durations = this.#all.durations("sealift_hub_request_duration_seconds", "Time from request to answer", [
    "route",
  ]);
  readonly #sent = this.#all.counter("sealift_hub_sent_bytes_total", "Bytes of answers that were sent whole", [
    "route",
  ]);
  readonly #failures = this.#all.counter("sealift_hub_failures_total", "Requests refused or failed, by error code", [
    "code",
  ]);
  readonly #publishes = this.#all.counter("sealift_hub_publishes_total", "Publications by kind and outcome", [
    "kind",
    "outcome",
  ]);
  readonly #published = this.#all.counter("sealift_hub_published_bytes_total", "Bytes that became visible", ["kind"]);
  readonly #sessions = this.#all.counter("sealift_hub_sessions_opened_total", "Sessions opened");
  readonly #statements = this.#all.durations("sealift_hub_database_duration_seconds", "Time of statements", [
    "operation",
  ]);
  readonly #statementFailures = this.#all.counter("sealift_hub_database_failures_total", "Statements that failed", [
    "operation",
  ]);
  readonly #blobs = this.#all.durations("sealift_hub_blob_duration_seconds", "Time of calls to the blob storage", [
    "operation",
  ]);
  readonly #blobFailures = this.#all.counter(
    "sealift_hub_blob_failures_total",
    "Calls to the blob storage that failed",
    ["operation"],
  );
  readonly #swept = this.#all.counter("sealift_hub_sweep_moved_total", "Artifacts that sweeps moved, by where to", [
    "to",
  ]);
  readonly #upkeepFailures = this.#all.counter("sealift_hub_upkeep_failures_total", "Upkeep that failed, by work", [
    "work",
  ]);

  answered({ method, route, status, durationMs, sentBytes = 0 }: AnsweredRequest): void {
    this.#requests.inc({ method, route, status });
    if (durationMs !== undefined) this.#durations.observe({ route }, durationMs / 1000);
    if (sentBytes > 0) this.#sent.inc({ route }, sentBytes);
  }

  failed(code: string): void {
    this.#failures.inc({ code });
  }

  /** Counts a publication. @param bytes that became visible; 0 for none */
  published(kind: string, outcome: "created" | "unchanged" | "refused", bytes: number): void {
    this.#publishes.inc({ kind, outcome });
    if (bytes > 0) this.#published.inc({ kind }, bytes);
  }

  sessionOpened(): void {
    this.#sessions.inc();
  }

  statement(operation: "read" | "write", durationMs: number, failed: boolean): void {
    this.#statements.observe({ operation }, durationMs / 1000);
    if (failed) this.#statementFailures.inc({ operation });
  }

  blobCall(operation: string, durationMs: number, failed: boolean): void {
    this.#blobs.observe({ operation }, durationMs / 1000);
    if (failed) this.#blobFailures.inc({ operation });
  }

  swept(to: "trash" | "place" | "nowhere", count: number): void {
    if (count > 0) this.#swept.inc({ to }, count);
  }

  upkeepFailed(work: string): void {
    this.#upkeepFailures.inc({ work });
  }

  /** Adds the gauges that are measured at each scrape. */
  #observe({ database, keyring, clock, now, connections, upkeep, readiness, gauges }: Observed): void {
    const all = this.#all;
    const overflows = "Connections that a full accept queue dropped";
    all.counterOf("sealift_hub_accept_overflows_total", overflows, listenOverflows);
    all.gauge("sealift_hub_connections", "Connections of clients now", () => connections.numbers.open);
    all.gauge("sealift_hub_connections_limit", "Most connections of clients", () => connections.numbers.most);
    const shed = "Connections closed because all were taken";
    all.counterOf("sealift_hub_connections_shed_total", shed, () => connections.numbers.shed);
    // A gauge that cannot be measured now is left out: the others show why.
    all.gauge("sealift_hub_sessions", "Sessions that live now", () =>
      countSessions(database.kysely, now()).catch(() => undefined),
    );
    all.gauge(
      "sealift_hub_part_up",
      "1 for a part of the storage that can be used",
      async () =>
        Object.entries((await readiness.now()).parts).map(([part, { ok }]) => ({
          labels: { part },
          value: ok ? 1 : 0,
        })),
      ["part"],
    );
    for (const each of gauges)
      if (each.labels !== undefined)
        all.gauge(each.name, each.help, () => each.read().catch(() => undefined), each.labels);
      else if (each.isCounter === true) all.counterOf(each.name, each.help, () => each.read());
      else all.gauge(each.name, each.help, () => each.read());
    const artifacts = "Artifacts with a record, by the last sweep";
    all.gauge("sealift_hub_artifacts", artifacts, () => upkeep.lastSweep?.known);
    const lost = "Records whose bytes the last sweep did not find";
    all.gauge("sealift_hub_lost_artifacts", lost, () => upkeep.lastSweep?.lost.length);
    const unexplained = "Artifacts without a record that the last sweep left in place";
    all.gauge("sealift_hub_unexplained_artifacts", unexplained, () => upkeep.lastSweep?.unexplained);
    all.gauge("sealift_hub_sweep_timestamp_seconds", "When the last sweep ended, in seconds since 1970", () =>
      upkeep.lastSweepAt === undefined ? undefined : upkeep.lastSweepAt / 1000,
    );
    all.gauge("sealift_hub_kek_age_seconds", "Age of the newest key-encryption key", () => {
      const since = keyring.newestSince;
      return since === undefined ? undefined : Math.max(0, (clock() - Date.parse(since)) / 1000);
    });
  }

  /** Serves the metrics on a listener of their own. @throws UsageError `usage` when it cannot listen there */
  serve(
    listen: { host: string; port: number },
    { logger, ...observed }: Observed & { logger: Logger | undefined },
  ): Promise<MetricsListener> {
    this.#observe(observed);
    const onFailure = (error: unknown) => logger?.warn({ err: error }, "the metrics could not be measured");
    return serveMetrics({ listen, registry: this.#all.registry, onFailure });
  }
}
