import type { Attributes, EndedSpan } from "./tracer.ts";

type Value = { stringValue: string } | { boolValue: boolean } | { intValue: string } | { doubleValue: number };

const valueOf = (value: string | number | boolean): Value => {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
};

const attributesOf = (attributes: Attributes): { key: string; value: Value }[] =>
  Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: valueOf(value) }]));

/** Nanoseconds since 1970 as text: a number does not hold them. */
const nanoseconds = (ms: number): string => `${Math.floor(ms)}${String(Math.floor((ms % 1) * 1e6)).padStart(6, "0")}`;

/** Returns the body of a request to a collector: `ExportTraceServiceRequest` in the JSON form of OTLP 1. */
export function otlpRequest(spans: readonly EndedSpan[], resource: Record<string, string>, version: string): string {
  const encoded = spans.map(({ context, parentId, name, kind, startMs, endMs, attributes, isFailed }) => ({
    ...{ traceId: context.traceId, spanId: context.spanId, traceState: context.state, parentSpanId: parentId },
    ...{ name, kind, startTimeUnixNano: nanoseconds(startMs), endTimeUnixNano: nanoseconds(endMs) },
    attributes: attributesOf(attributes),
    status: isFailed ? { code: 2 } : {},
    flags: 1,
  }));
  const scope = { name: "sealift", version };
  return JSON.stringify({
    resourceSpans: [{ resource: { attributes: attributesOf(resource) }, scopeSpans: [{ scope, spans: encoded }] }],
  });
}
