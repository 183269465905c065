import { setMaxListeners } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Transport } from "../client/http.ts";
import { mirroredRootIn } from "../contract/trust/marks.ts";
import type { Logger } from "../support/logging.ts";
import { serveMetrics } from "../support/metrics/listener.ts";
import { hostFault } from "../support/network/host-field.ts";
import { refuse, sendJson } from "./answers.ts";
import { ArtifactCache } from "./artifact-cache.ts";
import { CachedArtifacts } from "./cached-artifacts.ts";
import { HubArtifacts } from "./hub-artifacts.ts";
import { MirrorMetrics } from "./metrics.ts";
import { sendRoot } from "./roots.ts";
import { DOWNLOAD } from "./shown-urls.ts";

/** Time after which an idle connection is closed, in milliseconds. */
const IDLE_TIMEOUT_MS = 120_000;
/** Most connections at one time. */
const MAX_CONNECTIONS = 4096;
/** Time that answers in flight get to end once the mirror is stopped, in milliseconds. */
const CLOSE_GRACE_MS = 10_000;

export interface MirrorOptions {
  hubUrl: string;
  cacheDir: string;
  /** Most bytes that the cache may hold. */
  quotaBytes: number;
  listen: { host: string; port: number };
  /** Folder with trust roots that the operator has put there. Default: none. */
  rootsDir?: string | undefined;
  /** Address of the `/metrics` listener. Default: none. */
  metricsListen?: { host: string; port: number } | undefined;
  /** Longest silence of the hub, in milliseconds. */
  timeoutMs: number;
  leastRate?: Transport["leastRate"];
  logger: Logger;
}

interface Mirror {
  /** Address of the metrics; undefined without a listener for them. */
  metricsUrl: string | undefined;
  listen(): Promise<string>;
  /** Lets answers in flight end, for a short time. */
  close(): Promise<void>;
}

/**
 * Creates a cache of a hub's artifacts and deltas for the agents of one site. It has no key: it verifies the callers'
 * download URLs at the hub, and stores only ciphertext.
 *
 * @throws UsageError `config_invalid` when another mirror uses the folder
 */
export async function createMirror(options: MirrorOptions): Promise<Mirror> {
  const { hubUrl, listen, metricsListen, quotaBytes, timeoutMs, leastRate, logger } = options;
  const cache = await ArtifactCache.open(options.cacheDir, quotaBytes);
  const metrics = new MirrorMetrics(cache, quotaBytes);
  const onFailure = (err: unknown): void => logger.warn({ err }, "the metrics could not be measured");
  const { registry } = metrics;
  const metricsPage =
    metricsListen &&
    (await serveMetrics({ listen: metricsListen, registry, onFailure }).catch((error: unknown) => {
      cache[Symbol.dispose]();
      throw error;
    }));
  const stop = new AbortController();
  // Every request to the hub listens.
  setMaxListeners(0, stop.signal);
  const transport = { timeoutMs, signal: stop.signal, ...(leastRate && { leastRate }) };
  const service = new CachedArtifacts(cache, new HubArtifacts(hubUrl, transport), metrics, logger);
  const server = createServer((request, response) => {
    answer(request, response, options.rootsDir, service).catch((error: unknown) => {
      // The caller has disconnected.
      logger[response.destroyed ? "debug" : "warn"]({ err: error }, "an answer was given up");
      response.destroy();
    });
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.setTimeout(IDLE_TIMEOUT_MS);
  return {
    metricsUrl: metricsPage?.url,
    async listen() {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      server.once("error", reject).listen(listen, resolve);
      await promise;
      const { address, family, port } = server.address() as AddressInfo;
      return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
    },
    async close() {
      const timer = setTimeout(() => {
        stop.abort();
        server.closeAllConnections();
      }, CLOSE_GRACE_MS);
      if (server.listening) {
        const { promise, resolve } = Promise.withResolvers<void>();
        server.close(() => resolve());
        await promise;
      }
      clearTimeout(timer);
      stop.abort();
      await service.ended();
      await metricsPage?.[Symbol.asyncDispose]();
      cache[Symbol.dispose]();
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  rootsDir: string | undefined,
  service: CachedArtifacts,
): Promise<void> {
  const { method, url: path = "" } = request;
  const fault = hostFault(request);
  if (fault !== undefined) return refuse(response, 400, "bad_request", fault);
  if (path === "/healthz") return sendJson(response, 200, { status: "ok" });
  const [, id, expires] = DOWNLOAD.exec(path) ?? [];
  const root = mirroredRootIn(path);
  if (id === undefined && root === undefined)
    return refuse(response, 404, "not_found", "A mirror has downloads and trust roots only; ask the hub.");
  if (method !== "GET" && method !== "HEAD")
    return refuse(response, 405, "bad_request", "A mirror answers GET and HEAD only.", { allow: "GET, HEAD" });
  if (root !== undefined) return sendRoot(request, response, rootsDir, root);
  await service.answer(request, response, Number(expires) * 1000);
}
