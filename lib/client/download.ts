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
import type { KeptBytes, KeptRange } from "./kept-bytes.ts";
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
  /** URL of the bytes. It carries its own authorization, unless there is `ask`: the client sends no credential. */
  url: string;
  /** Returns a fresh URL when the old one has expired while resuming. */
  renew?: () => Promise<string>;
  /** Makes the hub's own request in place of one for `url`, with more headers. */
  ask?: (headers: Record<string, string>) => HttpRequest;
  /** Answer with status 200 to the hub's first request. The caller discards it in the end. */
  first?: HttpResponse & { url: string };
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
  /** Bytes of an earlier run, and where those of this one are kept. */
  kept?: KeptBytes | undefined;
}

/** @param status of the answer, where the answer itself is the fault */
const failure = (code: "artifact_changed" | "download_incomplete" | "limit_exceeded", why: string, status?: number) =>
  operationError("download", code, why, status === undefined ? {} : { status });

/**
 * Streams a download across lost connections: resumes with Range and If-Range on the same ETag
 * (docs/contract/marketplace.md). Ends only when as many bytes have arrived as the server promised. Of bytes that an
 * earlier run has kept, only what is before and after them is fetched.
 *
 * @throws ArtifactError `download_incomplete`, `artifact_changed`, and the codes of transport and status
 */
export async function* download(options: DownloadOptions): AsyncGenerator<Buffer> {
  let { url, first } = options;
  const { kept, ask } = options;
  let range = await kept?.find();
  const isRefused = kept?.isRefused === true;
  let received = 0;
  let total: number | undefined;
  let etag = range?.etag;
  /** Bytes that the network has brought, and the time spent waiting for them. */
  const came = { fetched: 0, waitedMs: 0 };
  const lost = (error: unknown): unknown => {
    kept?.lost(error);
    return error;
  };
  let renewed = false;
  const mirrors = (options.mirrors?.urls ?? []).filter((mirror) => atMirror(mirror, url) !== undefined);
  for (let idle = 0; ;) {
    const before = received;
    let why: unknown;
    let response: HttpResponse | undefined;
    const [mirror] = mirrors;
    const transport =
      mirror === undefined ? options : { ...options, timeoutMs: Math.min(options.timeoutMs, MIRROR_TIMEOUT_MS) };
    /** Offset at which the kept bytes begin, while it is not reached. */
    let until = range !== undefined && received < range.from ? range.from : undefined;
    try {
      const headers = headersFor(received, until, etag);
      const address = mirror && atMirror(mirror, url);
      const request = {
        ...(address === undefined && ask !== undefined ? ask(headers) : requestFor(address ?? url, headers)),
        staysOnOrigin: mirror !== undefined,
      };
      const answer = (received === 0 && range === undefined ? first : undefined) ?? (await send(request, transport));
      first = undefined;
      response = answer;
      if (answer.status === 200 || answer.status === 206) refuseWebPage(answer, request);
      // An answer that is an error says nothing of the bytes.
      if (range !== undefined && received === 0 && ANSWERS_OF_BYTES.has(answer.status) && !fits(answer, range)) {
        const why = failure("artifact_changed", "the server has other bytes than those kept here, or sends no parts.");
        if (mirror !== undefined) throw why;
        await kept!.refuse(why);
        range = etag = until = undefined;
        if (answer.status !== 200) continue;
      }
      if (mirror === undefined && received > 0 && !renewed && [401, 403, 404, 410].includes(answer.status)) {
        renewed = true;
        answer.discard();
        url = (await options.renew?.()) ?? url;
        continue;
      }
      if (answer.status !== 200 && answer.status !== 206) throw await statusError(answer, request);
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
      const end = until ?? Infinity;
      let since = performance.now();
      try {
        for await (const chunk of bodyOf(answer, request)) {
          came.waitedMs += performance.now() - since;
          const useful = usefulOf(chunk, skip, end - received);
          skip -= Math.min(skip, chunk.length);
          if (received === end) break;
          if (useful.length > 0) {
            if (mirror !== undefined) options.mirrors?.onUsed(mirror);
            const at = received;
            received += useful.length;
            came.fetched += useful.length;
            // Not `download_incomplete`: that would resume a server that never stops for ever.
            if (received > options.maxBytes)
              throw failure(
                "limit_exceeded",
                `more than ${options.maxBytes} bytes came, which is more than one can have.`,
              );
            if (total !== undefined && received > total)
              throw failure("download_incomplete", "more bytes came than the server promised.", answer.status);
            // Whoever gets the piece may decrypt it in its place.
            const written = kept?.take(useful, at, { ...came, size: total, etag });
            if (written !== undefined) await written;
            options.onReceived?.(received, total);
            yield useful;
          }
          since = performance.now();
        }
      } catch (error) {
        throw transportError(error, request, answer.url, transport);
      }
      if (received === until) {
        for await (const piece of kept!.read(range!)) {
          received += piece.length;
          options.onReceived?.(received, total);
          yield piece;
        }
        range = undefined;
      }
      if (total === undefined || received === total) return;
      if (until !== undefined && range === undefined) continue;
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
      if (received > (total ?? Infinity)) throw lost(why);
      if (received === 0) {
        etag = range?.etag;
        total = undefined;
      }
      idle = 0;
      continue;
    }
    const again =
      isTransient(why) || (why instanceof SealiftError && why.code === "download_incomplete" && received !== total);
    idle = received > before ? 0 : idle + 1;
    const tries = received === 0 && isRefused ? 1 : MAX_IDLE_TRIES;
    if (!again || idle >= tries || received > (total ?? Infinity)) throw lost(why);
    options.signal?.throwIfAborted();
    const delay = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** idle) * (0.75 + Math.random() / 2);
    const asked = askedWait(why as Error) ?? 0;
    const wait = Math.max(delay, asked);
    if (asked > 0) options.onWait?.(why as SealiftError, asked);
    await sleep(wait, undefined, options.signal && { signal: options.signal });
    if (received > 0) options.onResumed?.(received, (why as Error).message);
  }
}

const requestFor = (url: string, headers: Record<string, string>): HttpRequest => ({
  operation: "download",
  method: "GET",
  url,
  headers,
});

/** @param until offset before which the answer may end; undefined for all the rest */
function headersFor(received: number, until: number | undefined, etag: string | undefined): Record<string, string> {
  const headers: Record<string, string> = { "accept-encoding": "identity" };
  if (received > 0 || until !== undefined) {
    headers["range"] = `bytes=${received}-${until === undefined ? "" : until - 1}`;
    // A weak validator must not be in If-Range (RFC 9110, 13.1.5); the signature detects other bytes in any case.
    if (etag !== undefined && !etag.startsWith("W/")) headers["if-range"] = etag;
  }
  return headers;
}

/** Returns the part of a chunk that is wanted. @param skip bytes to leave out first @param most bytes wanted */
const usefulOf = (chunk: Buffer, skip: number, most: number): Buffer =>
  skip === 0 && chunk.length <= most ? chunk : chunk.subarray(Math.min(skip, chunk.length), skip + most);

/** Statuses that say which bytes a server has. */
const ANSWERS_OF_BYTES: ReadonlySet<number> = new Set([200, 206, 416]);

/** Tells whether an answer to a request for the first bytes is of the download that the kept bytes are of. */
function fits(answer: HttpResponse, { size, etag }: KeptRange): boolean {
  const now = header(answer, "etag");
  const isSame = lengthOf(answer) === size && (etag === undefined || now === undefined || now === etag);
  return answer.status === 206 && rangeStart(answer) === "0" && isSame;
}

/** Returns the bytes to skip at the start of the answer, after checking that it continues the same artifact. */
function startOf(response: HttpResponse, received: number, etag: string | undefined): number {
  if (received === 0 && response.status === 200) return 0;
  const now = header(response, "etag");
  if (etag !== undefined && now !== undefined && now !== etag)
    throw failure("artifact_changed", "its bytes changed in the middle.");
  if (response.status === 200) return received;
  if (rangeStart(response) !== String(received)) {
    const why = "the server answered another range than the one asked for.";
    throw failure("download_incomplete", why, response.status);
  }
  return 0;
}

/** Returns the offset of an answer's first byte, as the server wrote it; undefined where it states none. */
const rangeStart = (response: HttpResponse): string | undefined =>
  /^bytes (\d+)-/.exec(header(response, "content-range") ?? "")?.[1];

/** Returns the whole artifact's length, from Content-Range or Content-Length. */
function lengthOf(response: HttpResponse): number | undefined {
  const text =
    response.status === 206
      ? /\/(\d+)$/.exec(header(response, "content-range") ?? "")?.[1]
      : header(response, "content-length");
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}
