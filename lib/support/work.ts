import { channel, tracingChannel } from "node:diagnostics_channel";
import type { IncomingMessage, Server } from "node:http";
import { parseTraceparent, type TraceContext, traceHeaders } from "./trace-context.ts";

/**
 * Points at which a program reports its work through `node:diagnostics_channel`; traces subscribe to them
 * (`tracing/start.ts`). Without a subscriber each costs a comparison.
 */

export type WorkFacts = Record<string, string | number | boolean | undefined>;

interface WorkOptions {
  kind?: "internal" | "client" | undefined;
  /**
   * Parent of the work. Default: the surrounding work, else the trace that this program continues. `around`: the
   * surrounding work, or none.
   */
  parent?: TraceContext | "around" | undefined;
  /** Whether it is only part of other work: on its own it belongs to no trace. */
  isPart?: boolean;
}

/** Named piece of work, from its start to its end. */
export class Work {
  readonly name: string;
  readonly facts: WorkFacts;
  readonly options: WorkOptions;
  /** Place in a trace, if a subscriber assigned one. */
  trace: TraceContext | undefined;
  /** Error code of work that failed without an error. */
  failure: string | undefined;

  constructor(name: string, facts: WorkFacts, options: WorkOptions) {
    this.name = name;
    this.facts = { ...facts };
    this.options = options;
  }

  /** Adds facts. Never secrets, and no texts of errors: they leave this machine. */
  set(facts: WorkFacts): void {
    Object.assign(this.facts, facts);
  }

  /** Marks the work as failed, with an error code. */
  fail(code: string): void {
    this.failure = code;
  }
}

/** Work that has just ended, within the surrounding work. */
export interface Measured {
  name: string;
  durationMs: number;
  failed: boolean;
}

/** Request with the route that answers it, and its id in the log. */
export interface NamedRequest {
  request: IncomingMessage;
  route: string;
  requestId: string;
}

export const works = tracingChannel<Work, unknown>("sealift.work");
export const measured = channel("sealift.measured");
export const servers = channel("sealift.server");
export const namedRequests = channel("sealift.request.named");
/** Channel of requests for the current trace: subscribers set `trace` to that of the surrounding work. */
export const traceQuestions = channel("sealift.trace");
/** Traces that subscribers gave to requests. */
export const requestTraces = new WeakMap<IncomingMessage, TraceContext>();

/** Tells whether anybody subscribes to work. */
export const isWatched = (): boolean => works.hasSubscribers;

/** Runs work, and reports it. */
export function traced<T>(
  name: string,
  facts: WorkFacts,
  run: (work: Work) => Promise<T>,
  options: WorkOptions = {},
): Promise<T> {
  const work = new Work(name, facts, options);
  return works.hasSubscribers ? works.tracePromise(async () => run(work), work) : run(work);
}

/** Reports work that has just ended. */
export function tellMeasured(name: string, durationMs: number, failed: boolean): void {
  if (measured.hasSubscribers) measured.publish({ name, durationMs, failed } satisfies Measured);
}

/** Reports a server with all of its listeners, before its first request. */
export const tellServer = (server: Server): void => servers.publish(server);

/** Names the route that answers a request. */
export function nameRequest(request: IncomingMessage, route: string, requestId: string): void {
  if (namedRequests.hasSubscribers) namedRequests.publish({ request, route, requestId } satisfies NamedRequest);
}

/** Returns the trace that a request belongs to, even if this program exports none. */
export const traceOf = (request: IncomingMessage): TraceContext | undefined =>
  requestTraces.get(request) ?? parseTraceparent(request.headers["traceparent"], request.headers["tracestate"]);

/** Returns the id of that trace, for a log. */
export const traceIdOf = (request: IncomingMessage): string | undefined => traceOf(request)?.traceId;

/** Returns the variables with which a child program continues the trace. */
export function traceEnvironment(): Record<string, string> {
  if (!traceQuestions.hasSubscribers) return {};
  const question: { trace?: TraceContext } = {};
  traceQuestions.publish(question);
  const headers = question.trace === undefined ? {} : traceHeaders(question.trace);
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
}
