import type { IncomingMessage, RequestListener, Server } from "node:http";
import { parseTraceparent, type TraceContext } from "../trace-context.ts";
import {
  type Measured,
  measured,
  type NamedRequest,
  namedRequests,
  requestTraces,
  servers,
  traceQuestions,
  type Work,
  works,
} from "../work.ts";
import type { Span, Tracer } from "./tracer.ts";

/** Turns all work that the program reports into spans. @returns a function that stops it */
export function subscribeTracer(tracer: Tracer): () => void {
  const spans = new WeakMap<Work, Span>();
  const onChannels = [
    [measured, (message: unknown) => tracer.record(message as Measured)],
    [servers, (message: unknown) => traceRequests(tracer, message as Server)],
    [namedRequests, (message: unknown) => nameSpan(message as NamedRequest)],
    [
      traceQuestions,
      (message: unknown) => {
        (message as { trace?: TraceContext | undefined }).trace = tracer.active?.context;
      },
    ],
  ] as const;
  const onWorks = {
    start: () => undefined,
    end: () => undefined,
    asyncStart: () => undefined,
    error: (work: Work & { error: unknown }) => spans.get(work)?.failWith(work.error),
    asyncEnd: (work: Work & { error?: unknown }) => {
      const span = spans.get(work);
      if (work.error === undefined && work.failure !== undefined) span?.fail(work.failure);
      span?.end();
    },
  };
  const begin = (work: Work): Span | undefined => {
    const { name, facts, options } = work;
    const { active } = tracer;
    if (options.isPart === true && active === undefined) return undefined;
    const parent = options.parent === "around" ? (active?.context ?? null) : options.parent;
    const span = tracer.start(name, { kind: options.kind, parent, attributes: facts });
    spans.set(work, span);
    work.trace = span.context;
    return span;
  };
  works.start.bindStore(tracer.store, begin);
  works.subscribe(onWorks);
  for (const [to, hear] of onChannels) to.subscribe(hear);
  return () => {
    works.start.unbindStore(tracer.store);
    works.unsubscribe(onWorks);
    for (const [to, hear] of onChannels) to.unsubscribe(hear);
  };
}

/** Spans of requests that are being answered. */
const answering = new WeakMap<IncomingMessage, Span>();

/** Answers each request of a server in a span, which continues the client's trace. */
function traceRequests(tracer: Tracer, server: Server): void {
  const listeners = server.listeners("request") as RequestListener[];
  server.removeAllListeners("request");
  server.on("request", (request, response) => {
    const attributes = { "http.request.method": request.method };
    const parent = parseTraceparent(request.headers["traceparent"], request.headers["tracestate"]) ?? null;
    const span = tracer.start(`${request.method}`, { kind: "server", parent, attributes });
    answering.set(request, span);
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

/** Names the span of a request after its route, and adds the request id of the log. */
function nameSpan({ request, route, requestId }: NamedRequest): void {
  const span = answering.get(request);
  span?.rename(`${request.method} ${route}`);
  span?.set({ "http.route": route, "sealift.request_id": requestId });
}
