import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import { RUNTIME_CODES, type RuntimeErrorBody } from "../../contract/surfaces/runtime.ts";
import { RuntimeFault } from "../guest/fault.ts";

/** Returns the body of an error answer of surface C (docs/contract/runtime.md). */
export function errorBody({ code, message }: RuntimeFault): RuntimeErrorBody {
  return { status: "error", msg: message, code, error: message };
}

/** Converts Fastify's own errors, and anything else that was thrown, to a fault of the contract. */
export function asFault(error: FastifyError | RuntimeFault | Error): RuntimeFault {
  if (error instanceof RuntimeFault) return error;
  const { code, statusCode } = error as FastifyError;
  if (statusCode === 413) return new RuntimeFault("payload_too_large", "The body is larger than the runtime accepts.");
  // From Fastify's parser: malformed JSON, an empty JSON body, a content length that does not fit, a forbidden key.
  if (error instanceof SyntaxError || code === "FST_ERR_CTP_INVALID_JSON_BODY") {
    return new RuntimeFault("bad_json", `The body is not valid JSON: ${error.message}`);
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new RuntimeFault("bad_request", error.message);
  }
  return new RuntimeFault("internal", "The runtime failed to answer; its log says why.", { cause: error });
}

export function sendFault(reply: FastifyReply, fault: RuntimeFault): FastifyReply {
  reply.header(HEADERS.requestId, reply.request.id);
  if (fault.retryAfterSeconds !== undefined) reply.header("retry-after", Math.ceil(fault.retryAfterSeconds));
  return reply.code(RUNTIME_CODES[fault.code].status).send(errorBody(fault));
}

/** Answers what Node.js's parser rejects, which never becomes a request, and closes the connection. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy();
  const [status, message] =
    error.code === "HPE_HEADER_OVERFLOW"
      ? ["431 Request Header Fields Too Large", "The request's headers are larger than 16 KiB."]
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? ["408 Request Timeout", "The request did not arrive in time."]
        : ["400 Bad Request", "The request is not valid HTTP/1.1."];
  const body = JSON.stringify(errorBody(new RuntimeFault("bad_request", message)));
  const head = `Connection: close\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}`;
  socket.end(`HTTP/1.1 ${status}\r\n${head}\r\n\r\n${body}`);
}

/** Gives an app the contract's error bodies for unknown routes and for whatever is thrown. */
export function answerErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
    const fault = asFault(error);
    if (fault.code === "internal") request.log.error({ requestId: request.id, err: error }, "a request failed");
    return sendFault(reply, fault);
  });
  app.setNotFoundHandler((request, reply) => {
    return sendFault(reply, new RuntimeFault("not_found", `There is no route ${request.method} ${request.url}.`));
  });
}

const START = randomBytes(6).toString("base64url");
let last = 0;

/** Returns the caller's own X-Request-Id if it is a plain word, else a unique generated one. */
export function nextRequestId(request: Pick<IncomingMessage, "headers">): string {
  const given = request.headers["x-request-id"];
  if (typeof given === "string" && /^[A-Za-z0-9._:-]{1,128}$/.test(given)) return given;
  return `${START}-${(++last).toString(36)}`;
}
