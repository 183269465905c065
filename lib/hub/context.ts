import type { Logger } from "../support/logging.ts";
import type { DownloadUrls } from "./access/download-urls.ts";
import type { RateLimits } from "./access/rate-limits.ts";
import type { SessionTokens } from "./access/session-tokens.ts";
import type { SharedCounts } from "./access/shared-counts.ts";
import type { Blobs } from "./blobs/port.ts";
import type { Arrivals } from "./http/arrivals.ts";
import type { Keyring } from "./keys/keyring.ts";
import type { HubMetrics } from "./observability/hub-metrics.ts";
import type { CheckArchive } from "./publications/archive-check.ts";
import type { SourceHosts } from "./publications/import/sources.ts";
import type { KeyUse } from "./records/key-use.ts";
import type { Database } from "./records/port.ts";
import type { ReportQueue } from "./records/report-queue.ts";
import type { Sightings } from "./records/sightings.ts";

/** The context that every mount works with. */
export interface HubContext {
  database: Database;
  blobs: Blobs;
  keyring: Keyring;
  downloadUrls: DownloadUrls;
  /** The hub's root as clients know it, without a trailing slash. */
  publicUrl: () => string;
  /** Milliseconds since 1970, by the clock of the database. */
  clock: () => number;
  /** The same moment as ISO 8601 with milliseconds: as the records store it. */
  now: () => string;
  /** Largest upload. */
  maxArtifactBytes: number;
  rateLimits: RateLimits | undefined;
  rateCounts: SharedCounts;
  reports: ReportQueue;
  sightings: Sightings;
  sessionTokens: SessionTokens;
  arrivals: Arrivals;
  keyUse: KeyUse;
  /** Looks at a ZIP before it becomes visible. */
  checkArchive: CheckArchive;
  sourceHosts: SourceHosts;
  metrics: HubMetrics;
  logger: Logger | undefined;
}
