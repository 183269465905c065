/** Part of a trace that travels between programs: W3C Trace Context. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits. */
  spanId: string;
  isSampled: boolean;
  /** `tracestate` of other systems, passed on unchanged. */
  state?: string;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const MAX_TRACEPARENT = 256;
/** Longest state that everybody must pass on, in characters (3.3.1.5). */
const MAX_STATE = 512;

/** Parses `traceparent` and `tracestate`; undefined for what the specification says to ignore. */
export function parseTraceparent(text: unknown, state?: unknown): TraceContext | undefined {
  if (typeof text !== "string" || text.length > MAX_TRACEPARENT) return undefined;
  const [, version, traceId, spanId, flags, rest] = TRACEPARENT.exec(text) ?? [];
  if (traceId === undefined || version === "ff" || (version === "00" && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId!)) return undefined;
  const isState = typeof state === "string" && state !== "" && state.length <= MAX_STATE && /^[\t -~]+$/.test(state);
  return { traceId, spanId: spanId!, isSampled: (Number.parseInt(flags!, 16) & 1) === 1, ...(isState && { state }) };
}

/** Returns a span as the header `traceparent` names it. */
export const traceparentOf = ({ traceId, spanId, isSampled }: TraceContext): string =>
  `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;

/** Returns the headers that continue a trace elsewhere. */
export const traceHeaders = (context: TraceContext): Record<string, string> => ({
  traceparent: traceparentOf(context),
  ...(context.state !== undefined && { tracestate: context.state }),
});
