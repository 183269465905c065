import { setMaxListeners } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Transport } from "../client/http.ts";
import type { Logger } from "../support/logging.ts";
import { serveMetrics } from "../support/metrics/listener.ts";
import { askedRange, type ByteRange } from "../support/network/byte-ranges.ts";
import { matchesEtag } from "../support/network/entity-tags.ts";
import { hostFault } from "../support/network/host-field.ts";
import { readChunks } from "../support/read-chunks.ts";
import { passOn, refuse, sendJson, written } from "./answers.ts";
import { ArtifactCache } from "./artifact-cache.ts";
import { CacheFault, Fill } from "./fill.ts";
import { type Artifact, HubArtifacts, type HubVerdict, isRefusal } from "./hub-artifacts.ts";
import { MirrorMetrics, type RequestOutcome } from "./metrics.ts";
import { DOWNLOAD, ShownUrls } from "./shown-urls.ts";

/** Time after which an idle connection is closed, in milliseconds. */
const IDLE_TIMEOUT_MS = 120_000;
/** Most connections at one time. */
const MAX_CONNECTIONS = 4096;
const CHUNK_BYTES = 256 * 1024;
/** Time that answers in flight get to end once the mirror is stopped, in milliseconds. */
const CLOSE_GRACE_MS = 10_000;

export interface MirrorOptions {
  hubUrl: string;
  cacheDir: string;
  /** Most bytes that the cache may hold. */
  quotaBytes: number;
  listen: { host: string; port: number };
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
    service.answer(request, response).catch((error: unknown) => {
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

class CachedArtifacts {
  readonly #cache: ArtifactCache;
  readonly #hub: HubArtifacts;
  readonly #metrics: MirrorMetrics;
  readonly #logger: Logger;
  readonly #shown = new ShownUrls();
  /** Downloads under way, by digest, each with the newest URL that a caller has shown for it. */
  readonly #fills = new Map<string, Promise<Fill | undefined>>();
  readonly #newest = new Map<string, string>();
  readonly #running = new Set<Promise<void>>();

  constructor(cache: ArtifactCache, hub: HubArtifacts, metrics: MirrorMetrics, logger: Logger) {
    this.#cache = cache;
    this.#hub = hub;
    this.#metrics = metrics;
    this.#logger = logger;
  }

  /** Settles when no download is under way. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#fills.values());
    await Promise.all(this.#running);
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url: path = "" } = request;
    const fault = hostFault(request);
    if (fault !== undefined) return refuse(response, 400, "bad_request", fault);
    if (path === "/healthz") return sendJson(response, 200, { status: "ok" });
    const [, id, expires] = DOWNLOAD.exec(path) ?? [];
    if (id === undefined) return refuse(response, 404, "not_found", "A mirror has downloads only; ask the hub.");
    if (method !== "GET" && method !== "HEAD")
      return refuse(response, 405, "bad_request", "A mirror answers GET and HEAD only.", { allow: "GET, HEAD" });
    const verdict = await this.#verdict(path, Number(expires) * 1000);
    if (verdict === undefined) {
      this.#metrics.request("unavailable");
      return refuse(response, 502, "hub_unavailable", "The mirror cannot ask the hub whether this URL holds.");
    }
    if (isRefusal(verdict)) {
      this.#metrics.request("refused");
      return passOn(response, verdict);
    }
    await this.#send(request, response, path, verdict);
  }

  /** Asks the hub. When it cannot be reached, a URL that it accepted before is valid until it expires. */
  async #verdict(path: string, expiresMs: number): Promise<HubVerdict | undefined> {
    try {
      const verdict = await this.#hub.ask(path);
      if (!isRefusal(verdict)) this.#shown.accept(path, verdict, expiresMs);
      else if (verdict.status < 500 && verdict.status !== 429) this.#shown.refuse(path);
      else return this.#shown.find(path) ?? verdict;
      return verdict;
    } catch (error) {
      this.#logger.warn({ err: error }, "the hub cannot be asked");
      return this.#shown.find(path);
    }
  }

  async #send(request: IncomingMessage, response: ServerResponse, path: string, artifact: Artifact): Promise<void> {
    const { size, etag } = artifact;
    const range = askedRange(request.headers, size, etag);
    const shared = { "accept-ranges": "bytes", "cache-control": "private", ...(etag !== undefined && { etag }) };
    if (matchesEtag(request.headers["if-none-match"], etag)) return void response.writeHead(304, shared).end();
    if (range === "outside") {
      const headers = { ...shared, "content-range": `bytes */${size}` };
      return refuse(response, 416, "bad_request", `The range lies outside the ${size} bytes.`, headers);
    }
    const { start, end } = range ?? { start: 0, end: size - 1 };
    const headers = {
      ...shared,
      "content-type": "application/octet-stream",
      "content-length": end - start + 1,
      ...(range && { "content-range": `bytes ${start}-${end}/${size}` }),
    };
    const status = range === undefined ? 200 : 206;
    if (request.method === "HEAD" || size === 0) {
      response.writeHead(status, headers).end();
      return;
    }
    await using bytes = await this.#open(path, artifact, { start, end });
    this.#metrics.request(bytes.outcome);
    response.writeHead(status, headers);
    let left = end - start + 1;
    for await (const chunk of bytes.chunks) {
      left -= chunk.length;
      await written(response, chunk);
    }
    if (left > 0) throw new Error(`${left} bytes are missing`);
    response.end();
    this.#metrics.sent(end - start + 1);
  }

  /** Streams bytes from the cache, else from a download that fills it, else from the hub directly. */
  async #open(path: string, artifact: Artifact, range: ByteRange): Promise<OpenBytes> {
    const { sha256, size } = artifact;
    const through = (): OpenBytes => ({
      outcome: "passed",
      chunks: this.#part(path, artifact, range),
      [Symbol.asyncDispose]: async () => {},
    });
    if (sha256 === undefined) return through();
    try {
      // A download may end between the two looks; until then only the download knows its bytes.
      for (let look = 0; look < 2; look++) {
        const cached = this.#fills.has(sha256) ? undefined : await this.#cache.open(sha256, size);
        if (cached !== undefined) {
          const chunks = readChunks(cached, undefined, { range, size: CHUNK_BYTES });
          return { outcome: "cached", chunks, [Symbol.asyncDispose]: () => cached.close() };
        }
        this.#newest.set(sha256, path);
        const fill = await this.#fill(sha256, artifact);
        const file = await fill?.open();
        if (fill !== undefined && file !== undefined) {
          const chunks = this.#follow(fill, { file, path, artifact, range });
          return { outcome: "filled", chunks, [Symbol.asyncDispose]: () => file.close() };
        }
        if (fill === undefined || fill.failure !== undefined) break;
      }
    } catch (error) {
      this.#logger.warn({ err: error }, "the cache cannot be used: bytes pass through");
    }
    return through();
  }

  /**
   * Returns the download of an artifact into the cache: the one under way, or a new one. Undefined without room for it.
   */
  #fill(sha256: string, artifact: Artifact): Promise<Fill | undefined> {
    const current = this.#fills.get(sha256);
    if (current !== undefined) return current;
    const started = this.#start(sha256, artifact);
    this.#fills.set(sha256, started);
    const forget = (): void => {
      this.#fills.delete(sha256);
      this.#newest.delete(sha256);
    };
    const watched = started.then(
      async (fill) => {
        await fill?.ended;
        forget();
        if (fill?.failure !== undefined) this.#logger.warn({ err: fill.failure }, "an artifact was not cached");
      },
      () => forget(),
    );
    this.#running.add(watched);
    void watched.then(() => this.#running.delete(watched));
    return started;
  }

  async #start(sha256: string, artifact: Artifact): Promise<Fill | undefined> {
    const { size } = artifact;
    const reservation = await this.#cache.reserve(size);
    if (reservation === undefined) return undefined;
    const path = this.#newest.get(sha256)!;
    const bytes = this.#hub.whole(artifact, () => this.#newest.get(sha256) ?? path);
    return new Fill(this.#cache, { reservation, sha256, size }, this.#metrics.received(bytes));
  }

  #part(path: string, artifact: Artifact, range: ByteRange): AsyncGenerator<Buffer> {
    return this.#metrics.received(this.#hub.part(path, artifact, range));
  }

  /** Follows a download, and continues at the hub when the disk is full. */
  async *#follow(fill: Fill, { file, path, artifact, range }: Followed): AsyncGenerator<Buffer> {
    let at = range.start;
    try {
      for await (const chunk of fill.read(file, range)) {
        at += chunk.length;
        yield chunk;
      }
      return;
    } catch (error) {
      if (!(error instanceof CacheFault)) throw error;
    }
    yield* this.#part(path, artifact, { start: at, end: range.end });
  }
}

interface OpenBytes extends AsyncDisposable {
  outcome: RequestOutcome;
  /** Chunks of the answer. Each is valid until the next is requested. */
  chunks: AsyncIterable<Buffer>;
}

interface Followed {
  file: Parameters<Fill["read"]>[0];
  path: string;
  artifact: Artifact;
  range: ByteRange;
}
