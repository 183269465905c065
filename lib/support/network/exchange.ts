import {
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as httpRequest,
  type RequestOptions,
} from "node:http";
import { request as httpsRequest } from "node:https";

/** Bytes of an answer's head. */
const MAX_HEAD_BYTES = 16 * 1024;
/** Informational answers (1xx) before the answer: servers send one or two. */
const MAX_INFORMATIONAL = 16;

/** A server that said nothing for the whole of a time limit. */
export class SilenceError extends Error {
  /** The wait that was too long: for the headers of the answer, or for anything at all on the connection. */
  readonly event: "response" | "socket";

  constructor(event: SilenceError["event"]) {
    super(`no byte came (${event})`);
    this.event = event;
  }
}

/** An answer that no plain request may get. The message continues "the server …". */
export class ImproperAnswerError extends Error {}

const switched = (): Error => new ImproperAnswerError("answered 101 Switching Protocols to a plain request");
const flooded = (): Error => new ImproperAnswerError(`sent more than ${MAX_INFORMATIONAL} informational answers`);
const closedEarly = (): Error =>
  Object.assign(new Error("the connection was closed before an answer"), { code: "ECONNRESET" });

/** The bytes to send could not be read or made: no fault of the server or of the connection. */
export class OutgoingError extends Error {
  constructor(cause: unknown) {
    super("the bytes to send ended early", { cause });
  }
}

export interface ExchangeOptions extends Pick<RequestOptions, "method" | "headers" | "agent" | "lookup"> {
  /** Milliseconds that connecting, the headers, and each silence of the server may take. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** The head of an answer, and its body as it came over the wire. */
export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  /** The body. Errors after the head reach its reader. */
  body: IncomingMessage;
}

/**
 * Opens a request that always settles: whatever the server does, it emits `response` or `error` within its limits, and
 * an error leaves no socket. Redirects, credentials and statuses are the caller's.
 */
export function openRequest(url: URL, { timeoutMs, signal, ...options }: ExchangeOptions): ClientRequest {
  const request = (url.protocol === "https:" ? httpsRequest : httpRequest)(url, {
    ...options,
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
    // Without this error the body would look as if the server had broken off.
    (body ?? request).destroy(error);
  };
  request.on("error", settle);
  request.once("finish", () => {
    // Headers that drip are no silence of the connection.
    if (!isSettled) waiting = setTimeout(() => fail(new SilenceError("response")), timeoutMs);
  });
  request.on("timeout", () => {
    // Bytes that wait for a slow reader are no silence of the server, nor are those that we do not have yet.
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
    // A 101 that names no protocol is no upgrade to Node.
    if (answer.statusCode === 101) return fail(switched());
    settle();
    body = answer;
    // An answer that comes before all bytes have gone out ends the sending.
    answer.once("end", () => {
      if (!request.writableFinished) request.destroy();
    });
  });
  request.once("close", () => {
    if (!isSettled) fail(closedEarly());
  });
  return request;
}

/**
 * Asks a server, and resolves with the head of its answer. The body is Node's own stream: one of a library around it
 * would cost as much processor time as the checks of the bytes.
 *
 * @param outgoing the bytes to send, closed in any case; pauses of theirs are no silence of the server
 * @throws SilenceError, ImproperAnswerError, OutgoingError, the signal's abort, and the system's errors
 */
export function exchange(
  url: URL,
  options: ExchangeOptions,
  outgoing?: string | AsyncIterable<Uint8Array>,
): Promise<Answer> {
  const request = openRequest(url, options);
  return new Promise((resolve, reject) => {
    request.on("error", reject);
    request.once("response", (body) => resolve({ status: body.statusCode ?? 0, headers: body.headers, body }));
    if (outgoing === undefined || typeof outgoing === "string") request.end(outgoing);
    // Its failure is the request's.
    else sendBytes(outgoing, request).catch((error: Error) => request.destroy(error));
  });
}

/** @throws OutgoingError */
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

/** True while all that was given to a connected request is with the server, and more is to come. */
const isWaitingForUs = ({ socket, writableEnded, writableLength }: ClientRequest): boolean =>
  !writableEnded && writableLength === 0 && socket?.connecting === false;
