import type { IncomingMessage, RequestListener, Server } from "node:http";
import { parseTraceparent, type TraceContext } from "./trace-context.ts";
import type { Span } from "./tracer.ts";
import { tracer } from "./tracing.ts";

const spans = new WeakMap<IncomingMessage, Span>();

const remoteContext = ({ headers }: IncomingMessage) => parseTraceparent(headers["traceparent"], headers["tracestate"]);

/**
 * Answers each request of a server in a span, which continues the trace of the client. Does nothing without a tracer.
 */
export function traceRequests(server: Server): void {
  const tracing = tracer();
  if (tracing === undefined) return;
  const listeners = server.listeners("request") as RequestListener[];
  server.removeAllListeners("request");
  server.on("request", (request, response) => {
    const attributes = { "http.request.method": request.method };
    const parent = remoteContext(request) ?? null;
    const span = tracing.start(`${request.method}`, { kind: "server", parent, attributes });
    spans.set(request, span);
    response.once("close", () => {
      span.set({ "http.response.status_code": response.statusCode });
      if (response.statusCode >= 500 || !response.writableFinished) span.fail(String(response.statusCode));
      span.end();
    });
    tracing.run(span, () => {
      for (const listen of listeners) void listen(request, response);
    });
  });
}

/** Names the span of a request by the route that answers it, and gives it the id that the log knows. */
export function nameRequest(request: IncomingMessage, route: string, requestId: string): void {
  if (tracer() === undefined) return;
  const span = spans.get(request);
  span?.rename(`${request.method} ${route}`);
  span?.set({ "http.route": route, "sealift.request_id": requestId });
}

/** The trace that a request belongs to: also when this program exports none. */
export const traceOf = (request: IncomingMessage): TraceContext | undefined =>
  spans.get(request)?.context ?? remoteContext(request);

/** The same for a log. */
export const traceIdOf = (request: IncomingMessage): string | undefined => traceOf(request)?.traceId;
