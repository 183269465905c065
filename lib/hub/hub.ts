import { createHash } from "node:crypto";
import { join, resolve } from "node:path";
import type { FastifyInstance } from "fastify";
import { usageError } from "../contract/errors.ts";
import { baseUrl } from "../contract/surfaces/paths.ts";
import { tryLock } from "../support/process-lock.ts";
import { DownloadUrls } from "./access/download-urls.ts";
import { createApp } from "./app.ts";
import { openBlobs } from "./blobs/open.ts";
import type { HubContext } from "./context.ts";
import { prepareAdminKey, prepareDataDir, prepareKekFile } from "./first-start.ts";
import { drain } from "./http/drain.ts";
import { hubKey } from "./keys/hub-secret.ts";
import { Keyring } from "./keys/keyring.ts";
import { DEFAULTS, type HubOptions } from "./options.ts";
import { checkArchive } from "./publications/archive-check.ts";
import { SourceHosts } from "./publications/import/sources.ts";
import { knownBlobs } from "./records/artifacts.ts";
import { openDatabase } from "./records/database.ts";
import { registerKeks } from "./records/keks.ts";
import { startRetention } from "./retention.ts";

export type { HubOptions } from "./options.ts";

/** A hub that is ready to listen. */
export interface Hub {
  readonly app: FastifyInstance;
  /** Starts listening. @returns the URL of the listener, whatever the public URL is */
  listen(): Promise<string>;
  /**
   * Reads the KEK file again now, instead of with the next request that needs it. A file that cannot be read is told in the log, and the
   * keys that are known stay in use. Never rejects.
   */
  reload(): Promise<void>;
  /** Stops accepting, lets requests in flight end within the drain time, closes the database. */
  close(): Promise<void>;
}

/** Leftovers younger than this may belong to another hub on the same storage. */
const SHARED_SWEEP_AGE_MS = 24 * 60 * 60 * 1000;

/** The clock as ISO 8601. Many requests fall into one millisecond, whose text is made once. */
function isoClock(clock: () => number): () => string {
  let last = Number.NaN;
  let text = "";
  return () => {
    const moment = clock();
    if (moment !== last) text = new Date((last = moment)).toISOString();
    return text;
  };
}

/** A second hub would take the first one's uploads for what a crash left. @throws UsageError `usage` */
function lockDataDir(dataDir: string): Disposable {
  const lock = tryLock(join(dataDir, "hub.lock"));
  if (lock !== undefined) return lock;
  throw usageError("usage", `Another hub is running on the data folder ${dataDir}.`);
}

/**
 * Opens the hub's storage, migrates it, creates on the first start `admin.key` and the KEK file, removes what a crash left, and
 * builds the app.
 *
 * @throws UsageError when an option or a key file is not usable
 */
export async function createHub(options: HubOptions): Promise<Hub> {
  const dataDir = resolve(options.dataDir);
  const clock = options.clock ?? Date.now;
  const now = isoClock(clock);
  const { logger } = options;
  const listenOn = options.listen ?? DEFAULTS.listen;

  // What was opened ends in the reverse order: when a later step fails, and when the hub closes.
  await using opened = new AsyncDisposableStack();
  await prepareDataDir(dataDir);
  opened.use(lockDataDir(dataDir));
  const database = await openDatabase({
    dataDir,
    ...(options.databaseUrl !== undefined && { url: options.databaseUrl }),
    onStatement: options.onStatement,
    onIdleError: (error) => logger?.warn({ err: error }, "lost a database connection"),
  });
  opened.defer(() => database.close());

  const kekFile = options.kekFile ?? join(dataDir, "kek.json");
  await prepareKekFile(kekFile, database, clock());
  const keyring = new Keyring(kekFile, clock);
  await keyring.refresh({ force: true });
  await registerKeks(database.kysely, keyring.ids, now());
  await prepareAdminKey(dataDir, database, now());

  const downloadKey = await hubKey(database.kysely, keyring, "download-url", now());
  const blobs = await openBlobs(dataDir, options.blobUrl);
  await blobs.claim?.(createHash("sha256").update("blobs").update(downloadKey).digest("hex"));
  const minAgeMs = database.dialect === "sqlite" ? 0 : SHARED_SWEEP_AGE_MS;
  const { removed } = await blobs.sweep((ids) => knownBlobs(database.kysely, ids), minAgeMs);
  if (removed > 0) logger?.warn({ removed }, "removed what a crash left behind");

  const configuredUrl = options.publicUrl === undefined ? undefined : baseUrl(options.publicUrl);
  let url = configuredUrl ?? `http://${listenOn.host}:${listenOn.port}`;
  const context: HubContext = {
    database,
    blobs,
    keyring,
    downloadUrls: new DownloadUrls(downloadKey, options.downloadLifetimeMs),
    publicUrl: () => url,
    clock,
    now,
    maxArtifactBytes: options.maxArtifactBytes ?? DEFAULTS.maxArtifactBytes,
    rateLimits: options.rateLimits === false ? undefined : { ...DEFAULTS.rateLimits, ...options.rateLimits },
    checkArchive: options.checkArchive ?? checkArchive,
    sourceHosts: new SourceHosts(options.sourceHosts),
    logger,
  };
  opened.use(startRetention(context, options.keepReportsMs));
  const app = await createApp(context, configuredUrl);
  opened.defer(() => drain(app, options.drainTimeoutMs ?? DEFAULTS.drainTimeoutMs));

  const running = opened.move();
  let closing: Promise<void> | undefined;
  return {
    app,
    async listen() {
      const address = await app.listen({ host: listenOn.host, port: listenOn.port });
      // A wildcard is no address that anyone could call.
      const listening = address.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");
      url = configuredUrl ?? listening;
      return listening;
    },
    async reload() {
      try {
        await keyring.refresh({ force: true });
        await registerKeks(database.kysely, keyring.ids, now());
        logger?.info({ keks: keyring.ids }, "reloaded: these are the KEKs in use");
      } catch (error) {
        logger?.error({ err: error }, "the KEK file could not be read again");
      }
    },
    close: () => (closing ??= running.disposeAsync()),
  };
}
