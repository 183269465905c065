import { parseTraceparent, type TraceContext } from "../trace-context.ts";

/** Decides whether a span is exported. */
export type Sampler = (traceId: string, parent: TraceContext | undefined) => boolean;

/** Hexadecimal digits at the end of a trace id, which are random: as many as a number can hold. */
const DIGITS = 13;
const RANGE = 16 ** DIGITS;

/** Samplers of OTEL_TRACES_SAMPLER, without the part about the parent. */
const ROOTS: Record<string, (ratio: number) => Sampler> = {
  always_on: () => () => true,
  always_off: () => () => false,
  traceidratio: (ratio) => (traceId) => Number.parseInt(traceId.slice(-DIGITS), 16) < ratio * RANGE,
};

const PARENT_BASED = "parentbased_";

/** Returns the sampler of OpenTelemetry's name and argument; undefined for others and for an invalid ratio. */
export function samplerOf(name = "parentbased_always_on", argument = "1"): Sampler | undefined {
  const ratio = Number(argument);
  if (argument.trim() === "" || !(ratio >= 0 && ratio <= 1)) return undefined;
  const asksParent = name.startsWith(PARENT_BASED);
  const root = ROOTS[asksParent ? name.slice(PARENT_BASED.length) : name]?.(ratio);
  if (root === undefined || !asksParent) return root;
  return (traceId, parent) => parent?.isSampled ?? root(traceId, parent);
}

/** Configuration of traces, from the variables that all programs with OpenTelemetry read: docs/metrics.md. */
export interface TracingSettings {
  url: URL;
  /** Headers for the collector, with its credentials. */
  headers: Record<string, string>;
  timeoutMs: number;
  resource: Record<string, string>;
  sampler: Sampler;
  /** Trace that the caller of this program has begun. */
  parent: TraceContext | undefined;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const MAX_TIMEOUT_MS = 60_000;
const TRACES_PATH = "/v1/traces";
const MAX_LIST = 16_384;

/** Reads `name=value,name=value`, with values in percent-encoding. */
function listOf(text = ""): Record<string, string> {
  const pairs: [string, string][] = [];
  for (const pair of text.slice(0, MAX_LIST).split(",")) {
    const [, name, value = ""] = /^\s*([^=\s]+)\s*=(.*)$/.exec(pair) ?? [];
    if (name !== undefined) pairs.push([name, decoded(value.trim())]);
  }
  return Object.fromEntries(pairs);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function urlOf(env: NodeJS.ProcessEnv): URL | undefined {
  const traces = env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
  const base = env["OTEL_EXPORTER_OTLP_ENDPOINT"]?.replace(/\/+$/, "");
  const text = traces === undefined || traces === "" ? `${base}${TRACES_PATH}` : traces;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) ? url : undefined;
}

/** Tells whether a header can be sent; Node's own messages would contain its value. */
const isSendable = ([name, value]: [string, string]): boolean =>
  /^[!#$%&'*+.^_`|~\w-]+$/.test(name) && /^[\t -~]*$/.test(value);

/**
 * Reads the settings. Ignores unusable ones, and reports them to `warn` by their variable, never by their value.
 *
 * @returns undefined without a usable endpoint
 */
export function tracingSettings(
  env: NodeJS.ProcessEnv,
  { service, version, warn }: { service: string; version: string; warn: (message: string) => void },
): TracingSettings | undefined {
  const url = urlOf(env);
  if (url === undefined) {
    warn("OTEL_EXPORTER_OTLP_ENDPOINT is not an http or https URL: there are no traces.");
    return undefined;
  }
  const of = (name: string): string | undefined =>
    env[`OTEL_EXPORTER_OTLP_TRACES_${name}`] || env[`OTEL_EXPORTER_OTLP_${name}`] || undefined;
  const protocol = of("PROTOCOL");
  if (protocol !== undefined && protocol !== "http/json")
    warn(`OTEL_EXPORTER_OTLP_PROTOCOL asks for ${protocol.slice(0, 20)}; traces go as http/json.`);
  const sampler = samplerOf(env["OTEL_TRACES_SAMPLER"] || undefined, env["OTEL_TRACES_SAMPLER_ARG"] || undefined);
  if (sampler === undefined) warn("OTEL_TRACES_SAMPLER and its ARG name no sampler: all traces are exported.");
  const given = Object.entries(listOf(of("HEADERS")));
  const headers = given.filter(isSendable);
  if (headers.length < given.length) warn("OTEL_EXPORTER_OTLP_HEADERS has a header that cannot be sent.");
  const timeoutMs = Number(of("TIMEOUT") ?? DEFAULT_TIMEOUT_MS);
  const name = env["OTEL_SERVICE_NAME"];
  return {
    url,
    headers: Object.fromEntries(headers),
    timeoutMs: timeoutMs > 0 ? Math.min(timeoutMs, MAX_TIMEOUT_MS) : DEFAULT_TIMEOUT_MS,
    resource: {
      "service.name": service,
      "service.version": version,
      ...listOf(env["OTEL_RESOURCE_ATTRIBUTES"]),
      ...(name !== undefined && name !== "" && { "service.name": name }),
    },
    sampler: sampler ?? (() => true),
    parent: parseTraceparent(env["TRACEPARENT"], env["TRACESTATE"]),
  };
}
