import type { NameRule } from "../contract/look-alikes.ts";
import { hub, reportLimits } from "../options/hub.ts";
import { defaultOf } from "../options/option.ts";
import type { Logger } from "../support/logging.ts";
import type { RateLimits } from "./access/rate-limits.ts";
import type { Web } from "./access/web.ts";
import type { FeatureOptions } from "./features.ts";
import type { ArrivalLimits } from "./http/arrivals.ts";
import type { TlsFiles } from "./http/tls.ts";
import type { KekLocation } from "./keys/kek-source.ts";
import type { CheckArchive } from "./publications/archive-check.ts";
import type { ReportLimits } from "./upkeep/retention.ts";

export interface HubOptions extends FeatureOptions {
  /**
   * Folder with everything that the hub keeps, mode 0700: database, blobs, KEK file, `admin.key`. Created when missing.
   */
  dataDir: string;
  /** Address to listen at. Default 127.0.0.1:8787; port 0 takes any free one. */
  listen?: { host: string; port: number };
  /** Address at which clients reach the hub, also used in download URLs. Default: the listening address. */
  publicUrl?: string;
  /** Files of the certificate and key for TLS. Default: plain HTTP. */
  tls?: TlsFiles;
  /** `postgres://…`, or `sqlite:PATH`. Default: `hub.sqlite` in the data folder. */
  databaseUrl?: string;
  /** Most connections to PostgreSQL. Default 10. */
  databasePoolSize?: number;
  /** Time after which PostgreSQL cancels a statement, in milliseconds. Default 10 s. */
  statementTimeoutMs?: number;
  /** Folder (path or `file:` URL) or bucket (`blobs/s3-location.ts`). Default: `blobs` in the data folder. */
  blobUrl?: string;
  /** Source of the key-encryption keys. Default: `kek.json` in the data folder, created at the first start. */
  keks?: KekLocation;
  /** Largest upload, in bytes. Default 64 GiB, the most that one AES-GCM message may hold. */
  maxArtifactBytes?: number;
  /** Rule for new slugs that look like another owner's. Default: they are told, not refused. */
  names?: NameRule;
  /** Logger. Default: none. */
  logger?: Logger;
  /** Addresses and networks (CIDR) of proxies whose X-Forwarded-For is trusted. Default: none. */
  trustedProxies?: string[];
  /** Pages that show the hub in a browser, at `/`. Default: none. */
  web?: Web | undefined;
  /** Request limits; `false` switches them off. */
  rateLimits?: Partial<RateLimits> | false;
  /** Limits of incoming request bodies; {@link ArrivalLimits} has the defaults. */
  arrivalLimits?: Partial<ArrivalLimits>;
  /** Returns milliseconds since 1970. Default: the machine's clock. */
  clock?: () => number;
  /** Lifetime of a download URL, in milliseconds. Default 15 minutes. */
  downloadLifetimeMs?: number;
  /** Time that requests in flight get to end when the hub closes, in milliseconds. Default 10 s. */
  drainTimeoutMs?: number;
  /** Limits of stored deployment reports; a host's newest one is always kept. */
  reportLimits?: Partial<ReportLimits>;
  /** Milliseconds for which the audit log is kept. Default: for ever. */
  keepAuditMs?: number;
  /** Checks a ZIP before it becomes visible; throws to reject it. Default: the agent's own pre-scan. */
  checkArchive?: CheckArchive;
  /** Address of a separate listener for `/metrics`, which requires no key. Default: none. */
  metricsListen?: { host: string; port: number };
  /** Called with every database statement; tests count them. */
  onStatement?: (text: string, durationMs: number) => void;
}

export const DEFAULTS = {
  reportLimits: {
    reportsPerHost: defaultOf(reportLimits.reportsPerHost),
    keepReportsMs: defaultOf(reportLimits.keepReportsMs),
    keepFailuresMs: defaultOf(reportLimits.keepFailuresMs),
  },
  listen: defaultOf(hub.listen),
  names: defaultOf(hub.names),
  maxArtifactBytes: defaultOf(hub.maxArtifactBytes),
  rateLimits: { requestsPerMinute: defaultOf(hub.requestsPerMinute), failuresPerMinute: 60 },
  drainTimeoutMs: 10_000,
} as const;
