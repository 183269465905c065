import type { Metric } from "prom-client";
import type { Logger } from "../../support/logging.ts";
import { type Count, counter, Counts, Durations, gauge, processMetrics } from "../../support/metrics/families.ts";
import type { Histogram } from "../../support/metrics/histogram.ts";
import type { MetricsListener } from "../../support/metrics/listener.ts";
import type { Records } from "../records/port.ts";
import { countSessions } from "../records/sessions.ts";
import type { ReadinessCheck } from "../storage/readiness.ts";
import type { SweepResult } from "../storage/sweep.ts";
import { listenOverflows } from "./accept-queue.ts";

/** A request that was answered. */
export interface AnsweredRequest {
  method: string;
  /** The route's pattern, never a path: labels stay few. */
  route: string;
  status: number;
  durationMs: number;
  /** Bytes of the answer's body; undefined when they were not known, or not all sent. */
  sentBytes: number | undefined;
}

/** Sources of what is measured when somebody looks. */
interface Observed extends Records {
  keyring: { newestSince: string | undefined };
  connections: { numbers: { open: number; most: number | undefined; shed: number } };
  upkeep: { lastSweep: SweepResult | undefined; lastSweepAt: number | undefined };
  readiness: ReadinessCheck;
}

/** Statements are few, but those with lists of values are of any length. */
const MAX_KNOWN_STATEMENTS = 100;
const READ = /^\s*(select|with|pragma)\b/i;

/** The counters of the answers of one route to one method with one status. */
interface Answers {
  requests: Count;
  durations: Histogram;
  /** Undefined while nothing was sent. */
  sent: Count | undefined;
}

/** The hub's numbers (docs/metrics.md). Counting costs a look-up in a map; they become text when somebody looks. */
export class HubMetrics {
  readonly #requests = new Counts("sealift_hub_requests_total", "Requests by route and status", [
    "method",
    "route",
    "status",
  ]);
  readonly #durations = new Durations("sealift_hub_request_duration_seconds", "Time from request to answer", ["route"]);
  readonly #sent = new Counts("sealift_hub_sent_bytes_total", "Bytes of answers that were sent whole", ["route"]);
  readonly #failures = new Counts("sealift_hub_failures_total", "Requests refused or failed, by error code", ["code"]);
  readonly #publishes = new Counts("sealift_hub_publishes_total", "Publications by kind and outcome", [
    "kind",
    "outcome",
  ]);
  readonly #published = new Counts("sealift_hub_published_bytes_total", "Bytes that became visible", ["kind"]);
  readonly #sessions = new Counts("sealift_hub_sessions_opened_total", "Sessions opened", []);
  readonly #statements = new Durations("sealift_hub_database_duration_seconds", "Time of statements", ["operation"]);
  readonly #statementFailures = new Counts("sealift_hub_database_failures_total", "Statements that failed", [
    "operation",
  ]);
  readonly #blobs = new Durations("sealift_hub_blob_duration_seconds", "Time of calls to the blob storage", [
    "operation",
  ]);
  readonly #blobFailures = new Counts("sealift_hub_blob_failures_total", "Calls to the blob storage that failed", [
    "operation",
  ]);
  readonly #swept = new Counts("sealift_hub_sweep_moved_total", "Artifacts that sweeps moved, by where to", ["to"]);
  readonly #answers = new Map<string, Map<string, Map<number, Answers>>>();
  readonly #operations = new Map<string, { operation: "read" | "write"; durations: Histogram }>();
  readonly #upkeepFailures = new Counts("sealift_hub_upkeep_failures_total", "Upkeep that failed, by work", ["work"]);

  answered({ method, route, status, durationMs, sentBytes }: AnsweredRequest): void {
    const answers = this.#answersOf(method, route, status);
    answers.requests.count++;
    answers.durations.note(durationMs);
    if (sentBytes !== undefined && sentBytes > 0) (answers.sent ??= this.#sent.at([route])).count += sentBytes;
  }

  /** Looks up the counters of an answer without joining their labels: that takes longer than to count. */
  #answersOf(method: string, route: string, status: number): Answers {
    let ofRoute = this.#answers.get(route);
    if (ofRoute === undefined) this.#answers.set(route, (ofRoute = new Map<string, Map<number, Answers>>()));
    let ofMethod = ofRoute.get(method);
    if (ofMethod === undefined) ofRoute.set(method, (ofMethod = new Map<number, Answers>()));
    let answers = ofMethod.get(status);
    if (answers === undefined) {
      const requests = this.#requests.at([method, route, String(status)]);
      answers = { requests, durations: this.#durations.at([route]), sent: undefined };
      ofMethod.set(status, answers);
    }
    return answers;
  }

  failed(code: string): void {
    this.#failures.add([code]);
  }

  /** @param bytes of what became visible; 0 when nothing did */
  published(kind: string, outcome: "created" | "unchanged" | "refused", bytes: number): void {
    this.#publishes.add([kind, outcome]);
    if (bytes > 0) this.#published.add([kind], bytes);
  }

  sessionOpened(): void {
    this.#sessions.add([]);
  }

  /** @param text of a statement @returns what it does: `read` or `write` */
  statement(text: string, durationMs: number, failed: boolean): "read" | "write" {
    let known = this.#operations.get(text);
    if (known === undefined) {
      const operation = READ.test(text) ? "read" : "write";
      known = { operation, durations: this.#statements.at([operation]) };
      if (this.#operations.size < MAX_KNOWN_STATEMENTS) this.#operations.set(text, known);
    }
    const { operation } = known;
    known.durations.note(durationMs);
    if (failed) this.#statementFailures.add([operation]);
    return operation;
  }

  blobCall(operation: string, durationMs: number, failed: boolean): void {
    this.#blobs.note([operation], durationMs);
    if (failed) this.#blobFailures.add([operation]);
  }

  swept(to: "trash" | "place" | "nowhere", count: number): void {
    if (count > 0) this.#swept.add([to], count);
  }

  upkeepFailed(work: string): void {
    this.#upkeepFailures.add([work]);
  }

  /** All metrics, for a listener. */
  all({ database, keyring, clock, now, connections, upkeep, readiness }: Observed): Metric[] {
    const sweep = <T>(of: (result: SweepResult) => T) => {
      const { lastSweep } = upkeep;
      return lastSweep && of(lastSweep);
    };
    return [
      this.#requests.metric(),
      this.#durations.metric(),
      this.#sent.metric(),
      this.#failures.metric(),
      counter("sealift_hub_accept_overflows_total", "Connections that a full accept queue dropped", listenOverflows),
      gauge("sealift_hub_connections", "Connections of clients now", () => connections.numbers.open),
      gauge("sealift_hub_connections_limit", "Most connections of clients", () => connections.numbers.most),
      counter(
        "sealift_hub_connections_shed_total",
        "Connections closed because all were taken",
        () => connections.numbers.shed,
      ),
      this.#publishes.metric(),
      this.#published.metric(),
      this.#sessions.metric(),
      // A gauge that cannot be measured now is left out: the others tell why.
      gauge("sealift_hub_sessions", "Sessions that live now", () =>
        countSessions(database.kysely, now()).catch(() => undefined),
      ),
      this.#statements.metric(),
      this.#statementFailures.metric(),
      this.#blobs.metric(),
      this.#blobFailures.metric(),
      gauge("sealift_hub_part_up", "1 for a part of the storage that can be used", async () =>
        Object.entries((await readiness.now()).parts).map(([part, { ok }]) => ({
          labels: { part },
          value: ok ? 1 : 0,
        })),
      ),
      this.#swept.metric(),
      this.#upkeepFailures.metric(),
      gauge("sealift_hub_artifacts", "Artifacts with a record, by the last sweep", () => sweep(({ known }) => known)),
      gauge("sealift_hub_lost_artifacts", "Records whose bytes the last sweep did not find", () =>
        sweep(({ lost }) => lost.length),
      ),
      gauge("sealift_hub_unexplained_artifacts", "Artifacts without a record that the last sweep left in place", () =>
        sweep(({ unexplained }) => unexplained),
      ),
      gauge("sealift_hub_sweep_timestamp_seconds", "When the last sweep ended, in seconds since 1970", () =>
        upkeep.lastSweepAt === undefined ? undefined : upkeep.lastSweepAt / 1000,
      ),
      gauge("sealift_hub_kek_age_seconds", "Age of the newest key-encryption key", () => {
        const since = keyring.newestSince;
        return since === undefined ? undefined : Math.max(0, (clock() - Date.parse(since)) / 1000);
      }),
      ...processMetrics(),
    ];
  }
}

/** Serves the hub's metrics on a listener of their own. @throws UsageError `usage` when it cannot listen there */
export async function listenForMetrics(
  metrics: HubMetrics,
  { listen, logger, ...observed }: Observed & { listen: { host: string; port: number }; logger: Logger | undefined },
): Promise<MetricsListener> {
  // Hubs without such a listener do without the library.
  const { serveMetrics } = await import("../../support/metrics/listener.ts");
  return serveMetrics({
    listen,
    metrics: metrics.all(observed),
    onFailure: (error) => logger?.warn({ err: error }, "the metrics could not be measured"),
  });
}
