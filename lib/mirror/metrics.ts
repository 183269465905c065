import { ProgramMetrics } from "../support/metrics/program-metrics.ts";
import type { ArtifactCache } from "./artifact-cache.ts";

/** Origin of an answer's bytes, or the reason why it had none. */
export type RequestOutcome = "cached" | "filled" | "passed" | "refused" | "unavailable";

/** Metrics of a mirror (docs/metrics.md). */
export class MirrorMetrics extends ProgramMetrics {
  readonly #requests = this.counter("sealift_mirror_requests_total", "Requests for bytes, by outcome", ["outcome"]);
  readonly #sent = this.counter("sealift_mirror_sent_bytes_total", "Bytes of answers that were sent whole");
  readonly #received = this.counter("sealift_mirror_received_bytes_total", "Bytes that came from the hub");

  constructor(cache: Pick<ArtifactCache, "usage">, quotaBytes: number) {
    super();
    this.gauge("sealift_mirror_cached_bytes", "Bytes in the cache", () => cache.usage().bytes);
    this.gauge("sealift_mirror_cached_artifacts", "Files in the cache", () => cache.usage().files);
    this.gauge("sealift_mirror_quota_bytes", "Most bytes that the cache may hold", () => quotaBytes);
    this.counterOf("sealift_mirror_evicted_total", "Files that made room", () => cache.usage().evicted);
    this.counterOf("sealift_mirror_damaged_total", "Files whose bytes had changed", () => cache.usage().damaged);
  }

  request(outcome: RequestOutcome): void {
    this.#requests.inc({ outcome });
  }

  sent(bytes: number): void {
    this.#sent.inc(bytes);
  }

  /** Passes the hub's bytes on, and counts them. */
  async *received(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of bytes) {
      this.#received.inc(chunk.length);
      yield chunk;
    }
  }
}
