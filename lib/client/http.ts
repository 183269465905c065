import { PassThrough, type Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type FormData from "form-data";
import got, { type Request, RequestError, TimeoutError } from "got";
import pRetry from "p-retry";
import { z } from "zod";
import type { Code } from "../contract/codes.ts";
import { type ErrorKind, isAbort, SealiftError } from "../contract/errors.ts";
import { printable } from "../support/printable.ts";
import { faultsOf } from "../support/yaml-file.ts";
import { type Operation, OPERATIONS } from "./operations.ts";

/** Redirects are followed on every route, this many at the most (formats, section 3). */
const MAX_REDIRECTS = 10;
/** An answer that is not an artifact is small; more than this is not read. Bytes. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
const RETRIES = 3;
const FIRST_DELAY_MS = 500;
const MAX_RETRY_AFTER_MS = 60_000;

export interface Transport {
  /** Milliseconds: connecting, waiting for headers, and each silence while a body moves; never a whole transfer. */
  timeoutMs: number;
  signal?: AbortSignal;
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
      // Later errors of the body belong to whoever reads it.
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
        hint: "Check --hub-url and that the hub is running, then try again.",
      },
    );
  }
  return error;
}

/**
 * Sends a request and follows its redirects: at most ten, no loop, never from https to http; credentials stay on the first
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

/** Lets go of a body that nobody reads. */
export function discard(body: Readable): void {
  body.on("error", () => {});
  body.destroy();
}

/** Reads a small body whole. */
async function readText(response: HttpResponse): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response.body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) throw new RangeError(`the answer is larger than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** A hub's text as it may be shown: one line, printable, short, and without the request's secrets. */
function presentable(text: string, secrets: readonly string[]): string {
  let shown = text;
  for (const secret of secrets) if (secret !== "") shown = shown.replaceAll(secret, "[redacted]");
  return printable(shown).trim().slice(0, 500);
}

/** The error of an answer that is not 2xx; reads and closes its body. */
export async function statusError(response: HttpResponse, request: HttpRequest): Promise<SealiftError> {
  const { operation } = request;
  const { status } = response;
  const { codeOf } = OPERATIONS[operation];
  let said = "";
  let hubCode: string | undefined;
  let body: { error?: unknown; detail?: unknown; code?: unknown } = {};
  try {
    body = z.looseObject({}).parse(JSON.parse(await readText(response)));
    const text = typeof body.error === "string" ? body.error : body.detail;
    if (typeof text === "string" && text !== "")
      said = `: ${presentable(text, request.secrets ?? []).replace(/\.$/, "")}`;
    if (typeof body.code === "string") hubCode = presentable(body.code, request.secrets ?? []).slice(0, 64);
  } catch {
    discard(response.body);
  }
  const { code, hint, note } = codeOf(status, header(response, "retry-after"));
  const error = operationError(operation, code, `${note ?? "the hub answered"} ${status}${said}.`, {
    status,
    ...(hint !== undefined && { hint }),
    ...(hubCode !== undefined && { hubCode }),
  });
  const wait = parseRetryAfter(header(response, "retry-after"));
  answers.set(error, { body, ...(wait !== undefined && { retryAfterMs: wait }) });
  return error;
}

/** Reads a 2xx JSON answer against its schema. @throws `bad_answer` and the status errors of the operation */
export async function readJson<T extends z.ZodType>(
  response: HttpResponse,
  request: HttpRequest,
  schema: T,
): Promise<z.output<T>> {
  if (response.status < 200 || response.status > 299) throw await statusError(response, request);
  const bad = (why: string): SealiftError =>
    operationError(request.operation, "bad_answer", `the hub answered ${response.status}, but ${why}.`, {
      status: response.status,
      hint: "Check that --hub-url is the root of a Sealift hub.",
    });
  let value: unknown;
  try {
    value = JSON.parse(await readText(response));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) {
      discard(response.body);
      throw bad("not with JSON");
    }
    throw error;
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw bad(`without what the contract asks for (${faultsOf(parsed.error).join("; ")})`);
  return parsed.data;
}

/** Sends a request and reads its JSON answer; GETs are tried again (see {@link withRetries}). */
export async function call<T extends z.ZodType>(
  request: HttpRequest,
  schema: T,
  transport: Transport,
): Promise<z.output<T>> {
  return withRetries(request, transport, async () => {
    const response = await send(request, transport);
    try {
      return await readJson(response, request, schema);
    } catch (error) {
      throw transportError(error, request, response.url, transport);
    }
  });
}

/** An answer that may not have changed since its ETag was seen. */
export type Conditional<T> = { changed: false } | { changed: true; value: T; etag: string | undefined };

/** One GET with `If-None-Match`, tried once: whoever polls comes again anyway. */
export async function callIfChanged<T extends z.ZodType>(
  request: HttpRequest,
  etag: string | undefined,
  schema: T,
  transport: Transport,
): Promise<Conditional<z.output<T>>> {
  const conditional =
    etag === undefined ? request : { ...request, headers: { ...request.headers, "if-none-match": etag } };
  const response = await send(conditional, transport);
  if (response.status === 304 && etag !== undefined) {
    discard(response.body);
    return { changed: false };
  }
  try {
    return {
      changed: true,
      value: await readJson(response, request, schema),
      etag: header(response, "etag"),
    };
  } catch (error) {
    throw transportError(error, request, response.url, transport);
  }
}

const TRANSIENT = new Set<Code>(["connection_failed", "timed_out", "rate_limited", "hub_unavailable"]);

/** True for an error that may be gone at the next try: 408, 429, 5xx, connections. */
export const isTransient = (error: unknown): boolean => error instanceof SealiftError && TRANSIENT.has(error.code);

/**
 * The one retry rule (formats, section 3): GETs are tried three times more after 408, 429, 5xx and connection errors (and 404, where the
 * operation says that a release may still be propagating), with exponential delays from 0.5 s and jitter; `Retry-After` is
 * honoured up to 60 s. Everything else is tried once.
 */
export async function withRetries<T>(
  request: HttpRequest,
  { signal }: Transport,
  attempt: () => Promise<T>,
): Promise<T> {
  if (request.method !== "GET") return attempt();
  return pRetry(attempt, {
    retries: RETRIES,
    minTimeout: FIRST_DELAY_MS,
    factor: 2,
    randomize: true,
    ...(signal && { signal }),
    shouldRetry: ({ error }) =>
      isTransient(error) || (OPERATIONS[request.operation].retry404 === true && (error as SealiftError).status === 404),
    onFailedAttempt: async ({ error, retriesLeft }) => {
      const wait = retriesLeft > 0 ? answers.get(error)?.retryAfterMs : undefined;
      if (wait !== undefined) await sleep(Math.min(wait, MAX_RETRY_AFTER_MS), undefined, signal && { signal });
    },
  });
}

/** The answer that an error was made from. */
const answers = new WeakMap<object, { body: Record<string, unknown>; retryAfterMs?: number }>();

/** The JSON body of the answer that became `error`; empty when there was none. */
export const answerOf = (error: object): Record<string, unknown> => answers.get(error)?.body ?? {};

/** Milliseconds that the hub asked to wait, when the answer that became `error` had a `Retry-After`. */
export const retryAfterOf = (error: object): number | undefined => answers.get(error)?.retryAfterMs;

/** Milliseconds of a `Retry-After` header (seconds or a date), or `undefined`. */
export function parseRetryAfter(value: string | undefined, now = Date.now()): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
