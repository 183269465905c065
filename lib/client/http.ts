import { PassThrough, type Readable } from "node:stream";
import type FormData from "form-data";
import got, { type Request, RequestError, TimeoutError } from "got";
import type { Code } from "../contract/codes.ts";
import { type ErrorKind, isAbort, SealiftError } from "../contract/errors.ts";
import { type Operation, OPERATIONS, serverOf } from "./error-wording.ts";
import { atLeastRate, LEAST_RATE, type LeastRate } from "./least-rate.ts";

/** Redirects are followed on every route, this many at the most (docs/contract/marketplace.md). */
const MAX_REDIRECTS = 10;

export interface Transport {
  /** Milliseconds: connecting, waiting for headers, and each silence while a body moves; never a whole transfer. */
  timeoutMs: number;
  signal?: AbortSignal;
  /** Below it an answer's body is given up; {@link LEAST_RATE} unless given. */
  leastRate?: LeastRate;
}

type FormBody = { form: () => Promise<FormData>; onUploaded?: (bytes: number, total: number) => void };

export interface HttpRequest {
  operation: Operation;
  method: "GET" | "POST" | "DELETE";
  url: string;
  headers?: Record<string, string>;
  /** Sent to the first origin only, never across a redirect to another one. */
  credentials?: Record<string, string>;
  json?: unknown;
  /** Made again for each redirect. */
  form?: FormBody;
  /** The body holds a secret: it follows no redirect to another origin. */
  secretBody?: boolean;
  /** Values that must not come back in an error's text. */
  secrets?: readonly string[];
}

export interface HttpResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** As it came over the wire for artifacts, decoded otherwise. Destroy it when it is not read to its end. */
  body: Readable;
}

export const header = (response: HttpResponse, name: string): string | undefined => {
  const value = response.headers[name.toLowerCase()];
  return Array.isArray(value) ? value[0] : value;
};

/** The error of an operation, of the contract's kind for that status ("Client-side error kinds of the agent"). */
export function operationError(
  operation: Operation,
  code: Code,
  why: string,
  facts: { status?: number; hint?: string; hubCode?: string; cause?: unknown } = {},
): SealiftError {
  const { doing, kind } = OPERATIONS[operation];
  return new SealiftError(kindFor(kind, facts.status), code, `${doing} failed: ${why}`, facts);
}

const kindFor = (
  kind: ErrorKind | ((status: number | undefined) => ErrorKind),
  status: number | undefined,
): ErrorKind => (typeof kind === "function" ? kind(status) : kind);

/** A form says its length: without it the upload would be chunked, and nobody could refuse it by its size. */
const formLength = (form: FormData | undefined): Record<string, string> =>
  form === undefined ? {} : { "content-length": String(form.getLengthSync()) };

/** One exchange without redirects. Resolves when the headers are there. */
function exchange(
  request: HttpRequest,
  url: URL,
  credentials: Record<string, string>,
  form: FormData | undefined,
  transport: Transport,
): Promise<HttpResponse> {
  const { timeoutMs } = transport;
  const stream: Request = got.stream(url, {
    method: request.method,
    headers: {
      "user-agent": "sealift",
      ...form?.getHeaders(),
      ...formLength(form),
      ...request.headers,
      ...credentials,
    },
    ...(request.json !== undefined && { json: request.json }),
    // form-data is a stream of the old kind, which got does not take.
    ...(form !== undefined && { body: form.pipe(new PassThrough()) }),
    decompress: request.operation !== "download" && request.operation !== "install",
    followRedirect: false,
    throwHttpErrors: false,
    retry: { limit: 0 },
    timeout: {
      lookup: timeoutMs,
      connect: timeoutMs,
      secureConnect: timeoutMs,
      socket: timeoutMs,
      response: timeoutMs,
    },
    ...(transport.signal && { signal: transport.signal }),
  });
  // Without a body got leaves the request open for writing.
  if (request.method !== "GET" && request.json === undefined && form === undefined) stream.end();
  if (request.form?.onUploaded) {
    const { onUploaded } = request.form;
    stream.on("uploadProgress", ({ transferred, total }: { transferred: number; total?: number }) =>
      onUploaded(transferred, total ?? 0),
    );
  }
  return new Promise((resolve, reject) => {
    let response: HttpResponse | undefined;
    stream.once("response", (answer: { statusCode: number; headers: HttpResponse["headers"] }) => {
      response = { status: answer.statusCode, headers: answer.headers, body: stream };
      resolve(response);
    });
    stream.once("error", (error: Error) => {
      // The reader of the body handles its later errors.
      if (response === undefined) reject(error);
    });
  });
}

/** A transport failure as data: what cannot be reached or is silent may be there again later. */
export function transportError(
  error: unknown,
  request: Pick<HttpRequest, "operation">,
  url: string,
  { timeoutMs, signal }: Transport,
): unknown {
  if (error instanceof SealiftError) return error;
  if (isAbort(error) || signal?.aborted) return signal?.reason ?? error;
  const { origin } = new URL(url);
  const server = serverOf(request.operation);
  if (error instanceof TimeoutError) {
    return operationError(
      request.operation,
      "timed_out",
      `${origin} was silent for ${timeoutMs / 1000} s (${error.event}).`,
      {
        cause: error,
        hint: "Try again later, or raise --timeout.",
      },
    );
  }
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof RequestError || code !== undefined) {
    return operationError(
      request.operation,
      "connection_failed",
      `the connection to ${origin} failed (${code ?? message}).`,
      {
        cause: error,
        hint: `Check ${server.option} and that the ${server.name} is running, then try again.`,
      },
    );
  }
  return error;
}

/**
 * Sends a request and follows its redirects: at most ten, no loop, never from https to http; credentials stay on
 * the first
 * origin. Resolves with any status that is not a redirect.
 *
 * @throws `connection_failed`, `timed_out`, `redirect_*`, of the operation's kind
 */
export async function send(request: HttpRequest, transport: Transport): Promise<HttpResponse & { url: string }> {
  let url = new URL(request.url);
  const { origin } = url;
  let { method } = request;
  let credentials = request.credentials ?? {};
  let bodied = true;
  const seen = new Set<string>();
  for (let redirects = 0; ; redirects++) {
    const current = bodied ? { ...request, method } : withoutBody({ ...request, method });
    let response: HttpResponse;
    try {
      response = await exchange(current, url, credentials, bodied ? await request.form?.form() : undefined, transport);
    } catch (error) {
      throw transportError(error, request, url.href, transport);
    }
    if (![301, 302, 303, 307, 308].includes(response.status)) return { ...response, url: url.href };
    discard(response.body);
    const next = nextUrl(request.operation, url, header(response, "location"));
    if (seen.has(`${method} ${next.href}`) || next.href === url.href) {
      throw operationError(request.operation, "redirect_loop", `${url.origin} redirects in a loop.`, {
        status: response.status,
      });
    }
    if (redirects === MAX_REDIRECTS) {
      throw operationError(request.operation, "redirect_loop", `there were more than ${MAX_REDIRECTS} redirects.`, {
        status: response.status,
      });
    }
    if (next.origin !== origin) {
      if (request.secretBody === true && bodied && response.status !== 303) {
        throw operationError(
          request.operation,
          "redirect_origin",
          `${url.origin} redirects to ${next.origin}, and the request carries a secret.`,
          {
            status: response.status,
            hint: `If that is your hub, give --hub-url ${next.origin}.`,
          },
        );
      }
      credentials = {};
    }
    seen.add(`${method} ${url.href}`);
    if (response.status === 303 && method !== "GET") {
      method = "GET";
      bodied = false;
    }
    url = next;
  }
}

const withoutBody = ({ json: _json, form: _form, ...rest }: HttpRequest): HttpRequest => rest;

function nextUrl(operation: Operation, from: URL, location: string | undefined): URL {
  const next = location === undefined ? undefined : URL.parse(location, from);
  if (next === undefined || next === null || !/^https?:$/.test(next.protocol)) {
    throw operationError(operation, "redirect_invalid", `${from.origin} redirects without a usable Location.`);
  }
  if (from.protocol === "https:" && next.protocol === "http:") {
    throw operationError(operation, "redirect_insecure", `${from.origin} redirects from https to http.`, {
      hint: "Ask the hub's operator to redirect to https.",
    });
  }
  return next;
}

/** Discards a body that nobody reads. */
export function discard(body: Readable): void {
  body.on("error", () => {});
  body.destroy();
}

/**
 * The bytes of an answer, given up with `too_slow` below the least rate. @throws `too_slow`, of the operation's
 * kind
 */
export function bodyOf(
  response: HttpResponse,
  { operation }: Pick<HttpRequest, "operation">,
  { leastRate = LEAST_RATE }: Pick<Transport, "leastRate"> = {},
): AsyncGenerator<Buffer> {
  const tooSlow = ({ bytesPerSecond, overMs }: LeastRate): SealiftError =>
    operationError(operation, "too_slow", `fewer than ${bytesPerSecond} bytes a second came for ${overMs / 1000} s.`, {
      hint: "Try again later, or ask the hub's operator why it is so slow.",
    });
  return atLeastRate(response.body as AsyncIterable<Buffer>, tooSlow, leastRate);
}
