import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Code } from "../../contract/codes.ts";
import type { Logger } from "../../support/logging.ts";
import { traceIdOf } from "../../support/work.ts";
import { HubError, notFound } from "../base/errors.ts";
import { type StorageTrouble, storageTrouble } from "../base/storage-error.ts";
import type { HubMetrics } from "../observability/hub-metrics.ts";

const CODE_OF_STATUS: Record<number, Code> = {
  400: "bad_request",
  401: "key_rejected",
  403: "forbidden",
  404: "not_found",
  408: "hub_unavailable",
  409: "conflict",
  413: "too_large",
  414: "bad_request",
  415: "unsupported_media_type",
  422: "unprocessable",
  429: "rate_limited",
  431: "bad_request",
  503: "hub_unavailable",
};

/** Answers for a storage in trouble, with the seconds after which to retry. */
const TROUBLES: Record<StorageTrouble, { status: number; code: Code; message: string; retryAfterSeconds: number }> = {
  away: {
    status: 503,
    code: "hub_unavailable",
    message: "The hub's storage does not answer; try again in a moment.",
    retryAfterSeconds: 2,
  },
  "read-only": {
    status: 503,
    code: "hub_unavailable",
    message: "The hub's storage can only be read now; try again in a moment.",
    retryAfterSeconds: 5,
  },
  refused: {
    status: 503,
    code: "hub_unavailable",
    message: "The hub's storage refuses the hub; its operator has to look at its credentials and rights.",
    retryAfterSeconds: 60,
  },
  full: {
    status: 507,
    code: "disk_full",
    message: "The hub has no room left; its operator has to make some.",
    retryAfterSeconds: 60,
  },
};

/** Message of the PostgreSQL pool when a request got no connection in time. */
const NO_FREE_CONNECTION = "timeout exceeded when trying to connect";
const BUSY = "No connection to the hub's database became free in time; try again in a moment.";

/** PostgreSQL's error code for a text that it cannot store; SQLite stores any. */
const POSTGRES_BAD_TEXT = "22021";

interface ErrorBody {
  error: string;
  detail: string;
  code: Code;
}

/**
 * Returns an error body: `detail` for readers of surface A, `error` for those of surface B
 * (docs/contract/marketplace.md).
 */
const bodyOf = (message: string, code: Code): ErrorBody => ({ error: message, detail: message, code });

const codeOf = (status: number): Code => CODE_OF_STATUS[status] ?? (status < 500 ? "hub_refused" : "hub_unavailable");

/** Returns the answer to an error that is not a {@link HubError}; for a defect it has only the request id. */
function answerOf(error: FastifyError, request: FastifyRequest): HubError {
  const trouble = storageTrouble(error);
  if (trouble !== undefined) {
    const { status, code, message: told, retryAfterSeconds } = TROUBLES[trouble];
    const message = error.message === NO_FREE_CONNECTION ? BUSY : told;
    return new HubError(status, code, message, { headers: { "retry-after": String(retryAfterSeconds) }, cause: error });
  }
  const status = error.statusCode ?? 500;
  if (error.code === POSTGRES_BAD_TEXT) return new HubError(422, "unprocessable", "A text holds a NUL character.");
  if (status === 429) return new HubError(429, "rate_limited", error.message);
  if (status >= 400 && status < 500)
    return new HubError(status, codeOf(status), `${error.message.replace(/\.$/, "")}.`);
  if (status === 503) {
    return new HubError(503, "hub_unavailable", "The hub is overloaded; try again later.", {
      headers: { "retry-after": "10" },
    });
  }
  return new HubError(500, "internal", `The hub failed to answer; its log says why under request id ${request.id}.`);
}

/** True for an error that is not a defect: the hub refuses on purpose, or its storage is in trouble. */
const isRefusal = (error: FastifyError | HubError): boolean =>
  error instanceof HubError
    ? error.cause === undefined
    : error.statusCode === 503 || storageTrouble(error) !== undefined;

/** Reason for a 5xx that is not a defect of the hub. */
export interface RefusalReason {
  refusal: string;
  /** Storage error behind it. */
  err?: Error;
}

const refusals = new WeakMap<FastifyRequest, RefusalReason>();

/** Returns the reason for a 5xx that is not a defect, for the log. */
export const refusalOf = (request: FastifyRequest): RefusalReason | undefined => refusals.get(request);

/** Listeners for errors: log, metrics and refusals. */
export interface ErrorListeners {
  logger: Logger | undefined;
  metrics: HubMetrics | undefined;
}

/** Logs and counts an error, and returns its answer; undefined when the client has left. */
export function answerTo(
  error: FastifyError | HubError,
  request: FastifyRequest,
  reply: FastifyReply,
  { logger, metrics }: ErrorListeners,
): HubError | undefined {
  // The upload broke off, or another part of the hub has already answered.
  if (request.raw.socket.destroyed || reply.raw.writableEnded) {
    const { id: requestId, method, url } = request;
    logger?.info({ requestId, method, path: pathOf(url), reason: error.message }, "the client has left");
    return undefined;
  }
  const answer = error instanceof HubError ? error : answerOf(error, request);
  metrics?.failed(answer.code);
  if (answer.statusCode >= 500 && isRefusal(error))
    refusals.set(request, { refusal: answer.message, ...(error === answer ? {} : { err: error }) });
  else if (answer.statusCode >= 500) {
    const facts = { requestId: request.id, traceId: traceIdOf(request.raw), method: request.method };
    logger?.error({ ...facts, path: pathOf(request.url), err: error }, "failed");
  }
  return answer;
}

/** Sends an error as every route does. */
export function sendError(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
  listeners: ErrorListeners,
): void {
  const answer = answerTo(error, request, reply, listeners);
  if (answer === undefined) return;
  void reply
    .code(answer.statusCode)
    .removeHeader("etag")
    .header("cache-control", "no-store")
    .header("content-type", "application/json; charset=utf-8")
    .headers(answer.headers)
    .serializer(JSON.stringify)
    .send({ ...bodyOf(answer.message, answer.code), ...answer.fields });
}

/** Returns the path of a URL: queries can carry signatures, and stay out of logs. */
export function pathOf(url: string): string {
  const query = url.indexOf("?");
  return query === -1 ? url : url.slice(0, query);
}

/** Answers bytes that are not an HTTP request. */
export function onClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : error.code === "HPE_HEADER_OVERFLOW" ? 431 : 400;
  const body = JSON.stringify(bodyOf("The request is not valid HTTP.", codeOf(status)));
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

/** Page that a browser gets for an unknown path, from a hub that has pages. */
export interface UnknownPaths {
  show?: (error: HubError, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
}

const asksForPage = ({ method, headers }: FastifyRequest): boolean =>
  (method === "GET" || method === "HEAD") && /\btext\/html\b/.test(headers.accept ?? "");

/** Gives every error of the app, also of unknown routes, the one body that the contract's clients read. */
export function answerErrors(app: FastifyInstance, listeners: ErrorListeners, unknownPaths: UnknownPaths): void {
  app.setErrorHandler<FastifyError>((error, request, reply) => sendError(error, request, reply, listeners));
  app.setNotFoundHandler(async (request, reply) => {
    if (unknownPaths.show !== undefined && asksForPage(request))
      return unknownPaths.show(notFound("There is no such page."), request, reply);
    throw notFound(`There is no route ${request.method} ${pathOf(request.url)}.`);
  });
}
