import { setTimeout as sleep } from "node:timers/promises";
import * as routes from "../contract/downloads/routes.ts";
import { SealiftError } from "../contract/errors.ts";
import { baseUrl, pathOf } from "../contract/surfaces/paths.ts";
import { refuseWebPage, statusError } from "./answers.ts";
import {
  bodyOf,
  header,
  type HttpRequest,
  type HttpResponse,
  operationError,
  send,
  type Transport,
  transportError,
} from "./http.ts";
import { askedWait, isTransient } from "./retry.ts";

/** Consecutive attempts without a byte of progress after which a download fails. */
const MAX_IDLE_TRIES = 5;
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 10_000;
/** Silence after which a mirror is abandoned for the next source, in milliseconds. */
export const MIRROR_TIMEOUT_MS = 10_000;

/** Caches of a hub's bytes, none of which is trusted: on any failure the next source is used. */
export interface MirrorUse {
  /** Root URLs; mirrors never get a download URL that is not the hub's own. */
  urls: readonly string[];
  /** Called for each mirror that has sent bytes, once or more often. */
  onUsed: (url: string) => void;
  /** Called for each mirror that is abandoned. */
  onLeft: (url: string, why: string) => void;
}

/** Common prefix of all paths at which a hub serves bytes. */
export const DOWNLOADS = pathOf(routes.download, { id: "" });

/** Returns the URL of bytes at a mirror, or undefined for a URL that is not in the hub's form. */
function atMirror(mirror: string, address: string): string | undefined {
  const { pathname, search } = new URL(address);
  const at = pathname.lastIndexOf(DOWNLOADS);
  return at < 0 ? undefined : baseUrl(mirror) + pathname.slice(at) + search;
}

export interface DownloadOptions extends Transport {
  /** URL of the bytes. It carries its own authorization: the client sends no credential. */
  url: string;
  /** Returns a fresh URL when the old one has expired while resuming. */
  renew: () => Promise<string>;
  /** Largest accepted size, in bytes. */
  maxBytes: number;
  /** Total size in bytes, if the hub has stated it. */
  expectedBytes?: number | undefined;
  /** Mirrors tried before `url`. */
  mirrors?: MirrorUse;
  /** Called with the bytes received so far and the total, if the server states it. */
  onReceived?: (bytes: number, total: number | undefined) => void;
  /** Called when a download is resumed after a lost connection. */
  onResumed?: (bytes: number, why: string) => void;
}

const failure = (code: "artifact_changed" | "download_incomplete" | "limit_exceeded", why: string) =>
  operationError("download", code, why);

/**
 * Streams a download across lost connections: resumes with Range and If-Range on the same ETag
 * (docs/contract/marketplace.md). Ends only when as many bytes have arrived as the server promised.
 *
 * @throws ArtifactError `download_incomplete`, `artifact_changed`, and the codes of transport and status
 */
export async function* download(options: DownloadOptions): AsyncGenerator<Buffer> {
  let { url } = options;
  let received = 0;
  let total: number | undefined;
  let etag: string | undefined;
  let renewed = false;
  const mirrors = (options.mirrors?.urls ?? []).filter((mirror) => atMirror(mirror, url) !== undefined);
  for (let idle = 0; ;) {
    const before = received;
    let why: unknown;
    let response: HttpResponse | undefined;
    const [mirror] = mirrors;
    const transport =
      mirror === undefined ? options : { ...options, timeoutMs: Math.min(options.timeoutMs, MIRROR_TIMEOUT_MS) };
    try {
      const address = mirror && atMirror(mirror, url);
      const request = { ...requestFor(address ?? url, received, etag), staysOnOrigin: mirror !== undefined };
      const answer = await send(request, transport);
      response = answer;
      if (mirror === undefined && received > 0 && !renewed && [401, 403, 404, 410].includes(answer.status)) {
        renewed = true;
        answer.discard();
        url = await options.renew();
        continue;
      }
      if (answer.status !== 200 && answer.status !== 206) throw await statusError(answer, request);
      refuseWebPage(answer, request);
      let skip = startOf(answer, received, etag);
      etag ??= header(answer, "etag");
      total ??= lengthOf(answer);
      if ((total ?? 0) > options.maxBytes)
        throw failure("limit_exceeded", `the artifact has ${total} bytes, which is more than one can have.`);
      if (mirror !== undefined) {
        total ??= options.expectedBytes;
        if (total !== (options.expectedBytes ?? total))
          throw failure("download_incomplete", `it offers ${total} bytes instead of ${options.expectedBytes}.`);
      }
      renewed = false;
      try {
        for await (const chunk of bodyOf(answer, request)) {
          const useful = skip === 0 ? chunk : chunk.subarray(Math.min(skip, chunk.length));
          skip -= chunk.length - useful.length;
          if (useful.length === 0) continue;
          if (mirror !== undefined) options.mirrors?.onUsed(mirror);
          received += useful.length;
          // Not `download_incomplete`: that would resume a server that never stops for ever.
          if (received > options.maxBytes)
            throw failure(
              "limit_exceeded",
              `more than ${options.maxBytes} bytes came, which is more than one can have.`,
            );
          if (total !== undefined && received > total)
            throw failure("download_incomplete", "more bytes came than the server promised.");
          options.onReceived?.(received, total);
          yield useful;
        }
      } catch (error) {
        throw transportError(error, request, answer.url, transport);
      }
      if (total === undefined || received === total) return;
      why = failure("download_incomplete", `it ended after ${received} of ${total} bytes.`);
    } catch (error) {
      why = error;
    } finally {
      if (response !== undefined && !response.body.destroyed) response.discard();
    }
    if (mirror !== undefined && options.signal?.aborted !== true) {
      mirrors.shift();
      options.mirrors?.onLeft(mirror, (why as Error).message);
      // Too many bytes have already been yielded: only a new download can be right.
      if (received > (total ?? Infinity)) throw why;
      if (received === 0) etag = total = undefined;
      idle = 0;
      continue;
    }
    const again =
      isTransient(why) || (why instanceof SealiftError && why.code === "download_incomplete" && received !== total);
    idle = received > before ? 0 : idle + 1;
    if (!again || idle >= MAX_IDLE_TRIES || received > (total ?? Infinity)) throw why;
    options.signal?.throwIfAborted();
    const delay = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** idle) * (0.75 + Math.random() / 2);
    const asked = askedWait(why as Error) ?? 0;
    const wait = Math.max(delay, asked);
    if (asked > 0) options.onWait?.(why as SealiftError, asked);
    await sleep(wait, undefined, options.signal && { signal: options.signal });
    if (received > 0) options.onResumed?.(received, (why as Error).message);
  }
}

function requestFor(url: string, received: number, etag: string | undefined): HttpRequest {
  const headers: Record<string, string> = { "accept-encoding": "identity" };
  if (received > 0) {
    headers["range"] = `bytes=${received}-`;
    // A weak validator must not be in If-Range (RFC 9110, 13.1.5); the signature detects other bytes in any case.
    if (etag !== undefined && !etag.startsWith("W/")) headers["if-range"] = etag;
  }
  return { operation: "download", method: "GET", url, headers };
}

/** Returns the bytes to skip at the start of the answer, after checking that it continues the same artifact. */
function startOf(response: HttpResponse, received: number, etag: string | undefined): number {
  if (received === 0 && response.status === 200) return 0;
  const now = header(response, "etag");
  if (etag !== undefined && now !== undefined && now !== etag)
    throw failure("artifact_changed", "its bytes changed in the middle.");
  if (response.status === 200) return received;
  const start = /^bytes (\d+)-/.exec(header(response, "content-range") ?? "")?.[1];
  if (start !== String(received))
    throw failure("download_incomplete", "the server answered another range than the one asked for.");
  return 0;
}

/** Returns the whole artifact's length, from Content-Range or Content-Length. */
function lengthOf(response: HttpResponse): number | undefined {
  const text =
    response.status === 206
      ? /\/(\d+)$/.exec(header(response, "content-range") ?? "")?.[1]
      : header(response, "content-length");
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}
