import { resolve } from "node:path";
import type { FastifyInstance } from "fastify";
import { baseUrl } from "../contract/surfaces/paths.ts";
import { descriptors } from "../support/descriptors.ts";
import { tellMeasured } from "../support/work.ts";
import { DownloadUrls } from "./access/download-urls.ts";
import { SessionTokens } from "./access/session-tokens.ts";
import { SharedCounts } from "./access/shared-counts.ts";
import { createApp } from "./app.ts";
import { openBlobs } from "./blobs/open.ts";
import { type FeatureOptions, FEATURES } from "./features.ts";
import type { Core, HubFeature, RunningFeature } from "./features/feature.ts";
import { Arrivals } from "./http/arrivals.ts";
import { Connections, mostConnections } from "./http/connections.ts";
import { TlsServers } from "./http/tls.ts";
import { drain, WideListener } from "./http/wide-listener.ts";
import { prepareAdminKey } from "./keys/admin-key.ts";
import { hubKey } from "./keys/hub-secret.ts";
import { kekSource } from "./keys/kek-source.ts";
import { Keyring } from "./keys/keyring.ts";
import { prepareKeks } from "./keys/prepare-keks.ts";
import { measuredBlobs } from "./observability/measured-blobs.ts";
import { DEFAULTS, type HubOptions } from "./options.ts";
import { checkArchive } from "./publications/archive-check.ts";
import { KeptUploads } from "./publications/kept-uploads.ts";
import { openDatabase, POSTGRES_DEFAULTS } from "./records/database.ts";
import { registerKeks } from "./records/keks.ts";
import { KeyUse } from "./records/key-use.ts";
import { ReportQueue } from "./records/report-queue.ts";
import { Sightings } from "./records/sightings.ts";
import { startClock } from "./storage/clock.ts";
import { openDataDir } from "./storage/data-dir.ts";
import { claimStorage, databaseId, refuseForeignStorage } from "./storage/ownership.ts";
import { ReadinessCheck } from "./storage/readiness.ts";
import { Reserve } from "./storage/reserve.ts";
import { Upkeep, type UpkeepOptions } from "./upkeep/upkeep.ts";

const READ = /^\s*(select|with|pragma)\b/i;

export type { HubOptions } from "./options.ts";

/** Hub that is ready to listen. */
export interface Hub {
  readonly app: FastifyInstance;
  readonly upkeep: Upkeep;
  /** Returns the running part of a feature. */
  part<Part extends RunningFeature>(feature: HubFeature<FeatureOptions, Part>): Part;
  /** Address of `/metrics`, if it has a listener. */
  readonly metricsUrl: string | undefined;
  /** Starts listening. @returns the URL of the listener, whatever the public URL is */
  listen(): Promise<string>;
  /** Reads KEKs and TLS certificate again. Logs what cannot be read, and keeps the old one. Never rejects. */
  reload(): Promise<void>;
  /** Stops accepting, lets requests in flight end within the drain time, and closes the database. */
  close(): Promise<void>;
}

/**
 * Opens and migrates the hub's storage, creates `admin.key` and the KEK file at the first start, and builds the app.
 *
 * @throws UsageError when an option or a key file is not usable
 */
export async function createHub(options: HubOptions): Promise<Hub> {
  const dataDir = resolve(options.dataDir);
  const { logger } = options;
  const listenOn = options.listen ?? DEFAULTS.listen;

  const tls = options.tls && (await TlsServers.open(options.tls, logger));
  // Everything opened is closed in reverse order: when a later step fails, and when the hub closes.
  await using opened = new AsyncDisposableStack();
  opened.use(await openDataDir(dataDir));
  // Hubs without a metrics listener never load the library.
  const metrics = options.metricsListen && new (await import("./observability/hub-metrics.ts")).HubMetrics();
  const reserve = new Reserve(dataDir);
  // Closed after the database, whose room it takes over.
  if (options.databaseUrl === undefined) opened.use(reserve);
  const openRecords = () =>
    openDatabase({
      dataDir,
      hooks: FEATURES,
      ...(options.databaseUrl !== undefined && { url: options.databaseUrl }),
      ...(options.databasePoolSize !== undefined && { poolSize: options.databasePoolSize }),
      ...(options.statementTimeoutMs !== undefined && { statementTimeoutMs: options.statementTimeoutMs }),
      onStatement: (text, durationMs, failed) => {
        const operation = READ.test(text) ? "read" : "write";
        metrics?.statement(operation, durationMs, failed);
        tellMeasured(`database ${operation}`, durationMs, failed);
        options.onStatement?.(text, durationMs);
      },
      onLostConnection: (error) => logger?.warn({ err: error }, "lost a database connection"),
    });
  const database = await reserve.opened(openRecords);
  opened.defer(() => database.close());
  const clock = opened.use(await startClock(database, options.clock ?? Date.now, logger));
  const blobs = measuredBlobs(await openBlobs(dataDir, options.blobUrl), metrics);
  await refuseForeignStorage(dataDir, database, blobs);

  const keks = kekSource(options.keks, dataDir);
  await prepareKeks(keks, database, clock.now());
  const keyring = new Keyring(keks, clock.now);
  await keyring.refresh({ force: true });
  await registerKeks(database.kysely, keyring.ids, clock.iso());
  const downloadKey = await hubKey(database.kysely, keyring, "download-url", clock.iso());
  await claimStorage(dataDir, database, blobs, databaseId(downloadKey));
  await prepareAdminKey(dataDir, database, clock.iso());

  const configuredUrl = options.publicUrl === undefined ? undefined : baseUrl(options.publicUrl);
  let url = configuredUrl ?? `${tls === undefined ? "http" : "https"}://${listenOn.host}:${listenOn.port}`;
  const connections = new Connections(
    mostConnections(await descriptors(), options.databasePoolSize ?? POSTGRES_DEFAULTS.poolSize),
  );
  const maxArtifactBytes = options.maxArtifactBytes ?? DEFAULTS.maxArtifactBytes;
  const parts = new Map<HubFeature<FeatureOptions>, RunningFeature>();
  const context: Core = {
    database,
    blobs,
    keyring,
    downloadUrls: new DownloadUrls(downloadKey, options.downloadLifetimeMs),
    publicUrl: () => url,
    clock: clock.now,
    now: clock.iso,
    maxArtifactBytes,
    uploads: new KeptUploads(blobs, maxArtifactBytes),
    rateLimits: options.rateLimits === false ? undefined : { ...DEFAULTS.rateLimits, ...options.rateLimits },
    rateCounts: opened.use(new SharedCounts(database, clock.now, logger)),
    sightings: opened.use(new Sightings(database.kysely, clock.now)),
    reports: new ReportQueue(database.kysely, database.dialect === "postgres", (view) => {
      for (const part of parts.values()) part.afterReports?.(view);
    }),
    sessionTokens: new SessionTokens(await hubKey(database.kysely, keyring, "session-tokens", clock.iso())),
    keyUse: opened.use(new KeyUse(database.kysely, clock.now)),
    arrivals: opened.use(new Arrivals(connections, options.arrivalLimits)),
    connections,
    checkArchive: options.checkArchive ?? checkArchive,
    names: options.names ?? DEFAULTS.names,
    metrics,
    logger,
  };
  for (const feature of FEATURES) {
    const part = (await feature.start?.(context, options)) ?? {};
    opened.defer(async () => part[Symbol.asyncDispose]?.());
    parts.set(feature, part);
  }
  const features = [...parts.values()];
  const upkeep = opened.use(
    new Upkeep(context, {
      isAlone: database.dialect === "sqlite",
      reportLimits: { ...DEFAULTS.reportLimits, ...options.reportLimits },
      keepAuditMs: options.keepAuditMs,
      chores: Object.assign({}, ...features.map(({ chores }) => chores)) as UpkeepOptions["chores"],
    }),
  );
  // After requests have ended or timed out, and before upkeep ends: both may be waiting for the storage.
  opened.defer(() => {
    upkeep.stop();
    blobs.close?.();
  });
  void upkeep.run();
  const readiness = new ReadinessCheck(context);
  const metricsListener =
    options.metricsListen &&
    opened.use(
      await metrics!.serve(options.metricsListen, {
        ...{ ...context, connections, upkeep, readiness },
        gauges: features.flatMap(({ gauges = [] }) => gauges),
      }),
    );
  const app = await createApp(context, {
    publicUrl: configuredUrl,
    connections,
    upkeep,
    readiness,
    trustedProxies: options.trustedProxies ?? [],
    tls,
    web: options.web && {
      pages: options.web,
      sessionKey: await hubKey(database.kysely, keyring, "web-sessions", clock.iso()),
    },
    features,
  });
  const listener = new WideListener(app);
  opened.defer(() => drain({ app, listener, connections }, options.drainTimeoutMs ?? DEFAULTS.drainTimeoutMs));

  if (options.databaseUrl === undefined) await reserve.begin();
  const running = opened.move();
  let closing: Promise<void> | undefined;
  return {
    app,
    upkeep,
    part: (feature) => parts.get(feature) as never,
    metricsUrl: metricsListener?.url,
    async listen() {
      const address = await listener.listen(listenOn);
      // Nobody can connect to a wildcard address.
      const listening = address.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");
      url = configuredUrl ?? listening;
      return listening;
    },
    async reload() {
      await tls?.reload();
      try {
        await keyring.refresh({ force: true });
        await registerKeks(database.kysely, keyring.ids, clock.iso());
        logger?.info({ keks: keyring.ids }, "reloaded: these are the KEKs in use");
      } catch (error) {
        logger?.error({ err: error }, "the KEKs could not be read again");
      }
    },
    close: () => (closing ??= running.disposeAsync()),
  };
}
