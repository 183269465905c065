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
  /** Everything the hub keeps, mode 0700: database, blobs, KEK file, `admin.key`. Created when missing. */
  dataDir: string;
  /** Default 127.0.0.1:8787; port 0 takes any free one. */
  listen?: { host: string; port: number };
  /** The address by which clients reach the hub, also for download URLs. Default: the listening address. */
  publicUrl?: string;
  /** The files to speak TLS with. Default: plain HTTP. */
  tls?: TlsFiles;
  /** `postgres://…`, or `sqlite:PATH`. Default: `hub.sqlite` in the data dir. */
  databaseUrl?: string;
  /** Most connections to PostgreSQL. Default 10. */
  databasePoolSize?: number;
  /** PostgreSQL cancels a statement that takes longer. Default 10 s. */
  statementTimeoutMs?: number;
  /** A folder (path or `file:` URL) or a bucket (`blobs/s3-location.ts`). Default: `blobs` in the data dir. */
  blobUrl?: string;
  /** The source of the key-encryption keys. Default: `kek.json` in the data dir, created at the first start. */
  keks?: KekLocation;
  /** Largest upload. Default 64 GiB, which is what one AES-GCM message may hold. */
  maxArtifactBytes?: number;
  /** Default: no logs. */
  logger?: Logger;
  /** Addresses and networks (CIDR) of proxies whose X-Forwarded-For is believed. Default: none. */
  trustedProxies?: string[];
  /** Pages that show the hub in a browser, on `/`. Default: none. */
  web?: Web | undefined;
  /** `false` switches the limits off. */
  rateLimits?: Partial<RateLimits> | false;
  /** Bounds of request bodies on their way in; see {@link ArrivalLimits} for the defaults. */
  arrivalLimits?: Partial<ArrivalLimits>;
  /** The machine's clock, in milliseconds since 1970. */
  clock?: () => number;
  /** The life of a download URL. Default 15 minutes. */
  downloadLifetimeMs?: number;
  /** The time that requests in flight may take to end when the hub closes. Default 10 seconds. */
  drainTimeoutMs?: number;
  /** The deployment reports that are kept; a host's newest one always is. */
  reportLimits?: Partial<ReportLimits>;
  /** Milliseconds for which the audit log is kept. Default for ever. */
  keepAuditMs?: number;
  /** Looks at a ZIP before it becomes visible; throws to refuse it. Default: the agent's own pre-scan. */
  checkArchive?: CheckArchive;
  /** Address of a separate listener for `/metrics`, which needs no key. Default: none. */
  metricsListen?: { host: string; port: number };
  /** Hears every database statement; tests count them. */
  onStatement?: (text: string, durationMs: number) => void;
}

export const DEFAULTS = {
  reportLimits: {
    reportsPerHost: defaultOf(reportLimits.reportsPerHost),
    keepReportsMs: defaultOf(reportLimits.keepReportsMs),
    keepFailuresMs: defaultOf(reportLimits.keepFailuresMs),
  },
  listen: defaultOf(hub.listen),
  maxArtifactBytes: defaultOf(hub.maxArtifactBytes),
  rateLimits: { requestsPerMinute: defaultOf(hub.requestsPerMinute), failuresPerMinute: 60 },
  drainTimeoutMs: 10_000,
} as const;
