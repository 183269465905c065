import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";

/** A server that said nothing for the whole of a time limit. */
export class SilenceError extends Error {
  /** The wait that was too long: for the headers of the answer, or for anything at all on the connection. */
  readonly event: "response" | "socket";

  constructor(event: SilenceError["event"]) {
    super(`no byte came (${event})`);
    this.event = event;
  }
}

/** The bytes to send could not be read or made: no fault of the server or of the connection. */
export class OutgoingError extends Error {
  constructor(cause: unknown) {
    super("the bytes to send ended early", { cause });
  }
}

interface ExchangeOptions {
  /** Milliseconds that connecting, the headers, and each silence of the server may take. */
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** The bytes that go to a server. */
export interface Outgoing {
  method: string;
  /** Its pauses are no silence of the server. It is closed in any case. */
  bytes: AsyncIterable<Uint8Array>;
}

/**
 * Asks for bytes, or sends some, and resolves with the answer's headers and the body as Node's own HTTP client reads
 * it: a stream of another library around it would cost as much processor time as the checks of the bytes. Redirects,
 * credentials and statuses are the caller's. An answer that comes before all bytes have gone out ends the sending.
 */
export function exchangeBytes(
  url: URL,
  headers: Record<string, string>,
  { timeoutMs, signal }: ExchangeOptions,
  outgoing?: Outgoing,
): Promise<{ status: number; headers: IncomingHttpHeaders; body: IncomingMessage }> {
  const request = (url.protocol === "https:" ? httpsRequest : httpRequest)(url, {
    headers,
    timeout: timeoutMs,
    ...(outgoing && { method: outgoing.method }),
    ...(signal && { signal }),
  });
  return new Promise((resolve, reject) => {
    let body: IncomingMessage | undefined;
    let waiting: NodeJS.Timeout | undefined;
    request.once("finish", () => {
      if (body !== undefined) return;
      // Headers that drip are no silence of the connection.
      waiting = setTimeout(() => request.destroy(new SilenceError("response")), timeoutMs);
    });
    request.once("close", () => clearTimeout(waiting));
    request.on("timeout", () => {
      // Bytes that wait for a slow reader are no silence of the server, nor are those that we do not have yet.
      if (isWaitingForUs(request) || (body?.readableLength ?? 0) > 0) request.setTimeout(timeoutMs);
      else (body ?? request).destroy(new SilenceError("socket"));
    });
    // An error behind the headers reaches the reader of the body.
    request.on("error", reject);
    request.once("response", (answer) => {
      clearTimeout(waiting);
      body = answer;
      answer.once("end", () => {
        if (!request.writableFinished) request.destroy();
      });
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: answer });
    });
    if (outgoing === undefined) request.end();
    // Its failure is the request's.
    else sendBytes(outgoing.bytes, request).catch((error: Error) => request.destroy(error));
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
