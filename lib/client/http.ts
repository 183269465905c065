import type { Readable } from "node:stream";
import type { Code } from "../contract/codes.ts";
import { type ErrorFacts, type ErrorKind, isAbort, SealiftError } from "../contract/errors.ts";
import { USER_AGENT } from "../contract/surfaces/headers.ts";
import { exchange, ImproperAnswerError, OutgoingError, SilenceError } from "../support/network/exchange.ts";
import { programVersion } from "../support/program-version.ts";
import { followRedirects, type RedirectFault } from "../support/redirects.ts";
import { traceHeaders } from "../support/trace-context.ts";
import { isWatched, traced } from "../support/work.ts";
import { connectionFault, type Operation, OPERATIONS, serverOf } from "./error-wording.ts";
import type { FormBody } from "./file-form.ts";
import { BODILESS, exchangeJson } from "./json-exchange.ts";
import { atLeastRate, LEAST_RATE, type LeastRate } from "./least-rate.ts";
import type { RateLimit } from "./rate-limit.ts";

/** Most redirects followed on any route (docs/contract/marketplace.md). */
const MAX_REDIRECTS = 10;

export interface Transport {
  /** Hub whose download URLs these may be; undefined for other servers. */
  hubUrl?: string;
  /**
   * Time limit in milliseconds for connecting, for the headers, and for each silence within a body; never for a whole
   * transfer.
   */
  timeoutMs: number;
  signal?: AbortSignal;
  /** Called before each pause that the server requests with `Retry-After`. */
  onWait?: (error: SealiftError, waitMs: number) => void;
  /** Rate below which an answer's body is abandoned. Default: {@link LEAST_RATE}. */
  leastRate?: LeastRate;
  /** Bound of the rate at which bytes of artifacts and archives are read; none by default. */
  rateLimit?: RateLimit;
}

export interface HttpRequest {
  operation: Operation;
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  url: string;
  headers?: Record<string, string>;
  /** Headers sent to the first origin only, never across a redirect to another one. */
  credentials?: Record<string, string>;
  json?: unknown;
  /** Makes the form, anew for each redirect. */
  form?: () => FormBody | Promise<FormBody>;
  /** Whether the body holds a secret: then no redirect to another origin is followed. */
  secretBody?: boolean;
  /** The server is untrusted: cross-origin redirects are never followed. */
  staysOnOrigin?: boolean;
  /** Whether the request changes nothing although it is not a GET: then it is retried like one. */
  isRepeatable?: boolean;
  /** Values to remove from the text of errors. */
  secrets?: readonly string[];
}

export interface HttpResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** Decoded body; for artifacts, as it came over the wire. */
  body: Readable;
  /** Rates of the transport, for {@link bodyOf}. */
  leastRate?: LeastRate | undefined;
  rateLimit?: RateLimit | undefined;
  /** Abandons an unread body, and its connection if more would follow on it. */
  discard(): void;
}

export const header = (response: HttpResponse, name: string): string | undefined => {
  const value = response.headers[name.toLowerCase()];
  return Array.isArray(value) ? value[0] : value;
};

/**
 * Returns the error of an operation, with the contract's kind for the status ("Client-side error kinds of the agent").
 * The cause comes first, so that narrow columns show it.
 */
export function operationError(operation: Operation, code: Code, why: string, facts: ErrorFacts = {}): SealiftError {
  const { doing, kind } = OPERATIONS[operation];
  const cause = /^https?:/.test(why) ? why : `${why.slice(0, 1).toUpperCase()}${why.slice(1)}`;
  const message = doing === "" ? cause : withRemark(cause, doing);
  const reason = why.replace(/\.$/, "");
  return new SealiftError(kindFor(kind, facts.status), code, message, { reason, ...facts });
}

/** Ends a sentence with `… (ECONNREFUSED, authenticating).`, or `… (authenticating).` */
const withRemark = (sentence: string, remark: string): string =>
  sentence.endsWith(").") ? sentence.replace(/\)\.$/, `, ${remark}).`) : `${sentence.replace(/\.$/, "")} (${remark}).`;

const kindFor = (
  kind: ErrorKind | ((status: number | undefined) => ErrorKind),
  status: number | undefined,
): ErrorKind => (typeof kind === "function" ? kind(status) : kind);

/** Returns the headers of a form, with its length if known: servers reject large uploads by it. */
const formHeaders = ({ contentType, length }: FormBody): Record<string, string> => ({
  "content-type": contentType,
  ...(length === undefined ? { "transfer-encoding": "chunked" } : { "content-length": String(length) }),
});

function discardable(answer: Omit<HttpResponse, "discard">): HttpResponse {
  const { body, status } = answer;
  // Nothing follows such a head: its connection serves the next request.
  if (BODILESS.has(status)) return { ...answer, discard: () => {}, body: body.resume() };
  return { ...answer, discard: () => void body.on("error", () => {}).destroy() };
}

/** Operations whose answers are bytes of an artifact or archive. */
const BYTES: ReadonlySet<Operation> = new Set(["download", "install"]);
/** Operations whose answers are read as they arrive: those, and endless streams. */
const STREAMED: ReadonlySet<Operation> = new Set([...BYTES, "hints"]);

/** Operations of a host, whose watch runs for months: they do without got, which commands of people load. */
const OF_HOSTS: ReadonlySet<Operation> = new Set([
  ...(["auth", "latest", "location", "detail", "authorize", "report", "settings"] as const),
]);

/** Makes one exchange without redirects. Resolves when the headers have arrived. */
async function ask(
  request: HttpRequest,
  url: URL,
  credentials: Record<string, string>,
  form: FormBody | undefined,
  transport: Transport,
): Promise<HttpResponse> {
  const headers = { "user-agent": `${USER_AGENT}/${programVersion()}`, ...request.headers, ...credentials };
  const { timeoutMs, signal } = transport;
  if (form !== undefined || STREAMED.has(request.operation)) {
    const { method } = request;
    const all = form === undefined ? headers : { ...formHeaders(form), ...headers };
    return discardable(await exchange(url, { method, headers: all, timeoutMs, signal }, form?.bytes));
  }
  if (OF_HOSTS.has(request.operation))
    return discardable(await exchangeJson(url, headers, request, { timeoutMs, signal }));
  const { exchangeByGot } = await import("./got-exchange.ts");
  return exchangeByGot(url, headers, request, transport);
}

/** Returns the error inside the one that got wraps around it. */
const causeOf = (error: unknown): unknown =>
  error instanceof Error && error.cause instanceof Error && "timings" in error ? error.cause : error;

/**
 * Converts a transport failure: an unreachable or silent server may be back later. A failure of the bytes to send, such
 * as a full disk, is returned unchanged.
 */
export function transportError(
  error: unknown,
  request: Pick<HttpRequest, "operation">,
  url: string,
  { timeoutMs, signal }: Transport,
): unknown {
  if (error instanceof OutgoingError) return error.cause;
  if (error instanceof SealiftError) return error;
  if (isAbort(error) || signal?.aborted) return signal?.reason ?? error;
  const { operation } = request;
  const address = new URL(url);
  const server = serverOf(operation);
  const cause = causeOf(error);
  if (cause instanceof SilenceError) {
    const why = `${address.origin} was silent for ${timeoutMs / 1000} s (${cause.event}).`;
    return operationError(operation, "timed_out", why, { cause, hint: "Try again later, or raise --timeout." });
  }
  if (cause instanceof ImproperAnswerError)
    return operationError(operation, "bad_answer", `${address.origin} ${cause.message}.`, {
      cause,
      hint: `Check that ${server.option} is the root of a Sealift ${server.name}, and what stands between.`,
    });
  const { code } = error as NodeJS.ErrnoException;
  if (code !== undefined) {
    const { why, hint } = connectionFault(code, address, server);
    return operationError(operation, "connection_failed", `${why}.`, { cause: error, hint });
  }
  return error;
}

/**
 * Sends a request and follows its redirects: at most ten, no loop, never from https to http; credentials stay on the
 * first origin. Resolves with any status that is not a redirect.
 *
 * @throws `connection_failed`, `timed_out`, `redirect_*`, of the operation's kind
 */
export function send(request: HttpRequest, transport: Transport): Promise<HttpResponse & { url: string }> {
  if (!isWatched()) return follow(request, transport, undefined);
  const { operation, method } = request;
  const first = new URL(request.url);
  // The URL of bytes may be a bucket's, which gets no trace headers.
  const own = BYTES.has(operation) ? transport.hubUrl && new URL(transport.hubUrl).origin : first.origin;
  const port = first.port === "" ? undefined : Number(first.port);
  const facts = { "http.request.method": method, "server.address": first.hostname, "server.port": port };
  return traced(
    `${serverOf(operation).name} ${operation}`,
    facts,
    async (work) => {
      const { trace } = work;
      const headers = trace && own === first.origin ? traceHeaders(trace) : undefined;
      const answer = await follow(request, transport, headers);
      work.set({ "http.response.status_code": answer.status });
      if (answer.status >= 400) work.fail(String(answer.status));
      return answer;
    },
    // Requests outside of any work, such as polls, start no trace.
    { kind: "client", isPart: true },
  );
}

/** @param trace headers for the first origin only */
async function follow(
  request: HttpRequest,
  transport: Transport,
  trace: Record<string, string> | undefined,
): Promise<HttpResponse & { url: string }> {
  const { operation } = request;
  const first = new URL(request.url);
  let { method, credentials = {} } = request;
  let bodied = true;

  const { answer, url } = await followRedirects(first, {
    max: MAX_REDIRECTS,
    async ask(address) {
      const current = bodied ? { ...request, method } : withoutBody({ ...request, method });
      try {
        const form = bodied ? await request.form?.() : undefined;
        const headers = address.origin === first.origin ? { ...current.headers, ...trace } : current.headers;
        const traceable = headers === undefined ? current : { ...current, headers };
        const response = await ask(traceable, address, credentials, form, transport);
        const { status } = response;
        return { status, response, location: header(response, "location"), discard: () => response.discard() };
      } catch (error) {
        throw transportError(error, request, address.href, transport);
      }
    },
    admit(next, from, status) {
      if (next.origin !== first.origin) {
        if (request.staysOnOrigin === true)
          throw operationError(operation, "redirect_origin", `${from.origin} redirects to ${next.origin}.`, { status });
        if (request.secretBody === true && bodied && status !== 303) {
          const why = `${from.origin} redirects to ${next.origin}, and the request carries a secret.`;
          const hint = `If that is your hub, give --hub-url ${next.origin}.`;
          throw operationError(operation, "redirect_origin", why, { status, hint });
        }
        credentials = {};
      }
      if (status === 303 && method !== "GET") {
        method = "GET";
        bodied = false;
      }
    },
    mark: (address) => `${method} ${address.href}`,
    refused: (fault, from, status) => redirectError(operation, fault, from, status),
  });
  const { leastRate, rateLimit } = transport;
  return { ...answer.response, url: url.href, leastRate, rateLimit };
}

const withoutBody = ({ json: _json, form: _form, ...rest }: HttpRequest): HttpRequest => rest;

function redirectError(operation: Operation, fault: RedirectFault, { origin }: URL, status: number): SealiftError {
  const errors: Record<RedirectFault, () => SealiftError> = {
    invalid: () =>
      operationError(operation, "redirect_invalid", `${origin} redirects without a usable Location.`, { status }),
    insecure: () =>
      operationError(operation, "redirect_insecure", `${origin} redirects from https to http.`, {
        status,
        hint: "Ask the hub's operator to redirect to https.",
      }),
    loop: () => operationError(operation, "redirect_loop", `${origin} redirects in a loop.`, { status }),
    too_many: () =>
      operationError(operation, "redirect_loop", `there were more than ${MAX_REDIRECTS} redirects.`, { status }),
  };
  return errors[fault]();
}

/**
 * Streams the bytes of an answer, and abandons it below the least rate. Those of artifacts and archives come no faster
 * than the transport's bound.
 *
 * @throws `too_slow`, of the operation's kind
 */
export function bodyOf(
  { body, leastRate = LEAST_RATE, rateLimit }: HttpResponse,
  { operation }: Pick<HttpRequest, "operation">,
): AsyncGenerator<Buffer> {
  const tooSlow = ({ bytesPerSecond, overMs }: LeastRate): SealiftError =>
    operationError(operation, "too_slow", `fewer than ${bytesPerSecond} bytes a second came for ${overMs / 1000} s.`, {
      hint: "Try again later, or ask the hub's operator why it is so slow.",
    });
  const chunks = atLeastRate(body as AsyncIterable<Buffer>, tooSlow, leastRate);
  return rateLimit !== undefined && BYTES.has(operation) ? rateLimit.paced(chunks, () => body.destroyed) : chunks;
}
