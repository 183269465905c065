import type { IncomingMessage, RequestListener, Server } from "node:http";
import { parseTraceparent } from "../trace-context.ts";
import { type NamedRequest, requestTraces } from "../work.ts";
import type { Span, Tracer } from "./tracer.ts";

const spans = new WeakMap<IncomingMessage, Span>();

/** Answers each request of a server in a span, which continues the trace of the client. */
export function traceRequests(tracer: Tracer, server: Server): void {
  const listeners = server.listeners("request") as RequestListener[];
  server.removeAllListeners("request");
  server.on("request", (request, response) => {
    const attributes = { "http.request.method": request.method };
    const parent = parseTraceparent(request.headers["traceparent"], request.headers["tracestate"]) ?? null;
    const span = tracer.start(`${request.method}`, { kind: "server", parent, attributes });
    spans.set(request, span);
    requestTraces.set(request, span.context);
    response.once("close", () => {
      span.set({ "http.response.status_code": response.statusCode });
      if (response.statusCode >= 500 || !response.writableFinished) span.fail(String(response.statusCode));
      span.end();
    });
    tracer.run(span, () => {
      for (const listen of listeners) void listen(request, response);
    });
  });
}

/** Names the span of a request by the route that answers it, and gives it the id that the log knows. */
export function nameSpan({ request, route, requestId }: NamedRequest): void {
  const span = spans.get(request);
  span?.rename(`${request.method} ${route}`);
  span?.set({ "http.route": route, "sealift.request_id": requestId });
}
