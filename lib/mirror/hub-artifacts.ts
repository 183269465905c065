import { download } from "../client/download.ts";
import { bodyOf, header, type HttpResponse, send, type Transport, transportError } from "../client/http.ts";
import { baseUrl } from "../contract/surfaces/paths.ts";
import type { ByteRange } from "../support/network/byte-ranges.ts";

/** Time limit of a question to the hub, in milliseconds: the caller waits meanwhile, and may ask the hub itself. */
const ASK_TIMEOUT_MS = 5000;
/** Largest refusal of the hub that is passed on, in bytes. */
const MAX_REFUSAL_BYTES = 64 * 1024;

/** Facts of the bytes behind a download URL, as stated by the hub. */
export interface Artifact {
  /** Size in bytes. */
  size: number;
  /** SHA-256, hexadecimal; undefined if the hub does not state it: such bytes are never cached. */
  sha256: string | undefined;
  etag: string | undefined;
}

/** Answer of the hub without any bytes. */
export interface HubRefusal {
  status: number;
  contentType: string;
  retryAfter: string | undefined;
  body: Buffer;
}

/** Bytes that a caller may have, or the hub's answer why not. */
export type HubVerdict = Artifact | HubRefusal;

export const isRefusal = (verdict: HubVerdict): verdict is HubRefusal => "status" in verdict;

/** Hub as a mirror sees it. A mirror has no rights but to use the callers' download URLs. */
export class HubArtifacts {
  readonly #base: string;
  readonly #transport: Transport;

  constructor(hubUrl: string, transport: Transport) {
    this.#base = baseUrl(hubUrl);
    this.#transport = transport;
  }

  async #get(
    path: string,
    range: ByteRange,
    { etag, timeoutMs = this.#transport.timeoutMs }: { etag?: string | undefined; timeoutMs?: number } = {},
  ): Promise<HttpResponse & { url: string }> {
    const headers = {
      "accept-encoding": "identity",
      range: `bytes=${range.start}-${range.end}`,
      ...(etag !== undefined && { "if-range": etag }),
    };
    return send(
      { operation: "download", method: "GET", url: this.#base + path, headers },
      { ...this.#transport, timeoutMs },
    );
  }

  /**
   * Asks the hub whether a download URL is valid, and for what: the answer to a request for one byte tells both.
   *
   * @param path path and query of the URL
   * @throws SealiftError when the hub cannot be reached
   */
  async ask(path: string): Promise<HubVerdict> {
    const timeoutMs = Math.min(this.#transport.timeoutMs, ASK_TIMEOUT_MS);
    const answer = await this.#get(path, { start: 0, end: 0 }, { timeoutMs });
    const { status } = answer;
    const total = /\/(\d+)$/.exec(header(answer, "content-range") ?? "")?.[1];
    const length = status === 206 ? total : header(answer, "content-length");
    if ((status === 200 || status === 206) && length !== undefined && /^\d+$/.test(length)) {
      // Reading the one byte to its end keeps the connection for the next request.
      if (header(answer, "content-length") === "1") answer.body.on("error", () => {}).resume();
      else answer.discard();
      const etag = header(answer, "etag");
      const sha256 = /^"sha256-([0-9a-f]{64})"$/.exec(etag ?? "")?.[1];
      return { size: Number(length), sha256, etag };
    }
    return this.#refusal(answer);
  }

  async #refusal(answer: HttpResponse & { url: string }): Promise<HubRefusal> {
    const { status } = answer;
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const chunk of bodyOf(answer, { operation: "download" })) {
        bytes += chunk.length;
        if (bytes > MAX_REFUSAL_BYTES) break;
        chunks.push(chunk);
      }
    } catch (error) {
      throw transportError(error, { operation: "download" }, answer.url, this.#transport);
    } finally {
      answer.discard();
    }
    return {
      status: status >= 400 ? status : 502,
      contentType: header(answer, "content-type") ?? "application/octet-stream",
      retryAfter: header(answer, "retry-after"),
      body: Buffer.concat(chunks),
    };
  }

  /**
   * Downloads a whole artifact, resuming after a lost connection.
   *
   * @param path returns the newest URL that a caller has shown, since the first one may expire meanwhile
   */
  whole({ size }: Artifact, path: () => string): AsyncGenerator<Buffer> {
    const url = (): string => this.#base + path();
    return download({ ...this.#transport, url: url(), renew: async () => url(), maxBytes: size });
  }

  /** Passes bytes through, bypassing the cache. @throws SealiftError, or Error when the hub answers with other bytes */
  async *part(path: string, { etag, size }: Artifact, range: ByteRange): AsyncGenerator<Buffer> {
    const answer = await this.#get(path, range, { etag });
    try {
      const isWhole = answer.status === 200 && range.start === 0 && range.end === size - 1;
      const start = /^bytes (\d+)-/.exec(header(answer, "content-range") ?? "")?.[1];
      if (!isWhole && (answer.status !== 206 || start !== String(range.start)))
        throw new Error(`the hub answered ${answer.status} to a range of an artifact`);
      let left = range.end - range.start + 1;
      for await (const chunk of bodyOf(answer, { operation: "download" })) {
        left -= chunk.length;
        if (left < 0) throw new Error("the hub sent more bytes than it named");
        yield chunk;
      }
      if (left > 0) throw new Error("the hub sent fewer bytes than it named");
    } finally {
      answer.discard();
    }
  }
}
