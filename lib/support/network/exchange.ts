import {
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as httpRequest,
  type RequestOptions,
} from "node:http";
import { request as httpsRequest } from "node:https";
import type { TLSSocket } from "node:tls";
import { Resumption } from "./tls-sessions.ts";

/** Largest head of an answer, in bytes. */
const MAX_HEAD_BYTES = 16 * 1024;
/** Most informational answers (1xx) before the answer: servers send one or two. */
const MAX_INFORMATIONAL = 16;

/** Error of a server that said nothing for the whole of a time limit. */
export class SilenceError extends Error {
  /** Object of the wait: the headers of the answer, or anything at all on the connection. */
  readonly event: "response" | "socket";

  constructor(event: SilenceError["event"]) {
    super(`no byte came (${event})`);
    this.event = event;
  }
}

/** Error of an answer that no plain request may get. The message continues "the server …". */
export class ImproperAnswerError extends Error {}

const switched = (): Error => new ImproperAnswerError("answered 101 Switching Protocols to a plain request");
const flooded = (): Error => new ImproperAnswerError(`sent more than ${MAX_INFORMATIONAL} informational answers`);
const closedEarly = (): Error =>
  Object.assign(new Error("the connection was closed before an answer"), { code: "ECONNRESET" });

/** Error of bytes to send that could not be read or made; neither server nor connection is to blame. */
export class OutgoingError extends Error {
  constructor(cause: unknown) {
    super("the bytes to send ended early", { cause });
  }
}

export interface ExchangeOptions extends Pick<RequestOptions, "method" | "headers" | "agent" | "lookup"> {
  /** Time limit for connecting, for the headers, and for each silence of the server, in milliseconds. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** Head of an answer, and its body as it came over the wire. */
export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  /** Body of the answer, which emits errors after the head. */
  body: IncomingMessage;
}

/**
 * Opens a request that always settles: whatever the server does, it emits `response` or `error` within its limits, and
 * an error leaves no socket. Redirects, credentials and statuses are left to the caller.
 */
export function openRequest(url: URL, { timeoutMs, signal, ...options }: ExchangeOptions): ClientRequest {
  const isSecure = url.protocol === "https:";
  // An agent of its own, or none, wants connections of its own.
  const resumption = isSecure && options.agent === undefined ? new Resumption(url) : undefined;
  const request = (isSecure ? httpsRequest : httpRequest)(url, {
    ...options,
    // Even an undefined one, which keeps Node's agent from resuming a session of its own for ever.
    ...(resumption && { session: resumption.session }),
    maxHeaderSize: MAX_HEAD_BYTES,
    timeout: timeoutMs,
    ...(signal && { signal }),
  });
  let body: IncomingMessage | undefined;
  let waiting: NodeJS.Timeout | undefined;
  let informational = 0;
  let isSettled = false;
  const settle = (): void => {
    isSettled = true;
    clearTimeout(waiting);
  };
  const fail = (error: Error): void => {
    request.emit("error", error);
    // Without this error the server would seem to have broken off the body.
    (body ?? request).destroy(error);
  };
  request.on("error", settle);
  // By default the kernel would ask a silent server every second whether it lives: 270 MB of packets in a month.
  request.once("socket", (socket) => {
    socket.setKeepAlive(false);
    if (!request.reusedSocket) resumption?.follow(socket as TLSSocket);
  });
  request.once("finish", () => {
    // Headers that drip are not silence of the connection.
    if (!isSettled) waiting = setTimeout(() => fail(new SilenceError("response")), timeoutMs);
  });
  request.on("timeout", () => {
    // Bytes waiting for a slow reader are not silence of the server, nor are bytes still to be produced here.
    if (isWaitingForUs(request) || (body?.readableLength ?? 0) > 0) request.setTimeout(timeoutMs);
    else fail(new SilenceError("socket"));
  });
  request.on("information", () => {
    if (++informational > MAX_INFORMATIONAL) fail(flooded());
  });
  // Without a listener Node closes the socket, and the request never settles.
  request.once("upgrade", (_answer, socket) => {
    socket.destroy();
    fail(switched());
  });
  request.once("response", (answer) => {
    // To Node, a 101 that names no protocol is not an upgrade.
    if (answer.statusCode === 101) return fail(switched());
    settle();
    body = answer;
    // An answer that arrives before all bytes are sent ends the sending.
    answer.once("end", () => {
      if (!request.writableFinished) request.destroy();
    });
  });
  request.once("close", () => {
    if (!isSettled) fail(closedEarly());
  });
  return request;
}

/** Whether a server has closed a kept connection before it could read the request. */
const isStale = ({ reusedSocket }: ClientRequest, { code }: NodeJS.ErrnoException): boolean =>
  reusedSocket && (code === "ECONNRESET" || code === "EPIPE");

/**
 * Sends a request, and resolves with the head of its answer. A GET on a kept connection that the server has closed
 * meanwhile is sent once more. The body is Node's own stream: a library's stream around
 * it would cost as much processor time as the checks of the bytes.
 *
 * @param outgoing bytes to send, always closed; their pauses are not silence of the server
 * @throws SilenceError, ImproperAnswerError, OutgoingError, the signal's abort, and the system's errors
 */
export async function exchange(
  url: URL,
  options: ExchangeOptions,
  outgoing?: string | AsyncIterable<Uint8Array>,
): Promise<Answer> {
  const request = openRequest(url, options);
  try {
    return await answerTo(request, outgoing);
  } catch (error) {
    if (request.method !== "GET" || !isStale(request, error as Error)) throw error;
    return answerTo(openRequest(url, options), outgoing);
  }
}

function answerTo(request: ClientRequest, outgoing: string | AsyncIterable<Uint8Array> | undefined): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request.on("error", reject);
    request.once("response", (body) => resolve({ status: body.statusCode ?? 0, headers: body.headers, body }));
    if (outgoing === undefined || typeof outgoing === "string") request.end(outgoing);
    // Its failure is the request's.
    else sendBytes(outgoing, request).catch((error: Error) => request.destroy(error));
  });
}

/** Sends bytes as a request's body. @throws OutgoingError */
async function sendBytes(bytes: AsyncIterable<Uint8Array>, request: ClientRequest): Promise<void> {
  try {
    for await (const chunk of bytes) {
      if (request.destroyed) return;
      if (!request.write(chunk)) await hasRoom(request);
    }
  } catch (error) {
    throw new OutgoingError(error);
  }
  request.end();
}

/** Resolves when a request takes more bytes, or never will. */
function hasRoom(request: ClientRequest): Promise<void> {
  if (request.destroyed) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = (): void => {
    request.off("drain", done).off("close", done);
    resolve();
  };
  request.on("drain", done).on("close", done);
  return promise;
}

/** True while a connected request has sent all bytes given to it, and more are to come. */
const isWaitingForUs = ({ socket, writableEnded, writableLength }: ClientRequest): boolean =>
  !writableEnded && writableLength === 0 && socket?.connecting === false;
