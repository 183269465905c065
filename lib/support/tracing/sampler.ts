import type { TraceContext } from "./trace-context.ts";

/** Decides whether a span is exported. */
export type Sampler = (traceId: string, parent: TraceContext | undefined) => boolean;

/** Hexadecimal digits at the end of a trace id, which are random, and as many as a number can hold. */
const DIGITS = 13;
const RANGE = 16 ** DIGITS;

/** The samplers of OTEL_TRACES_SAMPLER, without the part that asks the parent. */
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
