import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "../support/logging.ts";
import { askedRange, type ByteRange } from "../support/network/byte-ranges.ts";
import { matchesEtag } from "../support/network/entity-tags.ts";
import { readChunks } from "../support/read-chunks.ts";
import { passOn, refuse, written } from "./answers.ts";
import type { ArtifactCache } from "./artifact-cache.ts";
import { CacheFault, Fill } from "./fill.ts";
import { type Artifact, type HubArtifacts, type HubVerdict, isRefusal } from "./hub-artifacts.ts";
import type { MirrorMetrics, RequestOutcome } from "./metrics.ts";
import { ShownUrls } from "./shown-urls.ts";

const CHUNK_BYTES = 256 * 1024;

/** Answers requests for download URLs from a cache that the hub's bytes fill. */
export class CachedArtifacts {
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

  /** Answers a request for a download URL. @param expiresMs of the URL */
  async answer(request: IncomingMessage, response: ServerResponse, expiresMs: number): Promise<void> {
    const { url: path = "" } = request;
    const verdict = await this.#verdict(path, expiresMs);
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
