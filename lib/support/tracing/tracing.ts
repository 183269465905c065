import type { Attributes, OpenSpan, SpanKind, Tracer } from "./tracer.ts";

/** The way to the tracer of this process. Without one, which only an OTLP endpoint loads, it costs a comparison. */

const NO_SPAN: OpenSpan = { set: () => undefined, fail: () => undefined };

let current: Tracer | undefined;

/** Makes a tracer the one of this process; undefined ends tracing. */
export function setTracer(tracer: Tracer | undefined): void {
  current = tracer;
}

/** Returns the tracer of this process, when it has one. */
export const tracer = (): Tracer | undefined => current;

/** Whether the environment asks for traces. */
export const wantsTraces = (env: NodeJS.ProcessEnv): boolean =>
  (isSet(env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]) || isSet(env["OTEL_EXPORTER_OTLP_ENDPOINT"])) &&
  env["OTEL_SDK_DISABLED"]?.toLowerCase() !== "true" &&
  env["OTEL_TRACES_EXPORTER"] !== "none";

const isSet = (text: string | undefined): boolean => text !== undefined && text !== "";

/** Does some work in a span of its own, below the span that is active; the work alone without a tracer. */
export function traced<T>(
  name: string,
  attributes: Attributes,
  work: (span: OpenSpan) => Promise<T>,
  kind?: SpanKind,
): Promise<T> {
  return current === undefined ? work(NO_SPAN) : current.traced(name, { attributes, kind }, work);
}

/** Adds a span for work that has ended just now, below the span that is active. */
export function recordSpan(name: string, durationMs: number, attributes: Attributes, failed: boolean): void {
  current?.record(name, durationMs, attributes, failed);
}

/** Returns the variables with which a child program continues the trace. */
export function traceEnvironment(): Record<string, string> {
  const headers = current?.headers();
  if (headers === undefined) return {};
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
}
