import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes } from "node:crypto";
import type { TraceContext } from "../trace-context.ts";
import type { Measured, WorkFacts } from "../work.ts";
import type { Sampler } from "./settings.ts";

/** Kinds of spans, by their numbers in OTLP. */
const KINDS = { internal: 1, server: 2, client: 3 } as const;
type SpanKind = keyof typeof KINDS;

/** Ended span. Times are milliseconds since 1970. */
export interface EndedSpan {
  context: TraceContext;
  parentId: string | undefined;
  name: string;
  kind: (typeof KINDS)[SpanKind];
  startMs: number;
  endMs: number;
  attributes: WorkFacts;
  isFailed: boolean;
}

interface SpanOptions {
  kind?: SpanKind | undefined;
  attributes?: WorkFacts;
  /** Parent of the span. Default: the active span. Null starts a trace. */
  parent?: TraceContext | null | undefined;
}

const nowMs = (): number => performance.timeOrigin + performance.now();

/** Span: a piece of work with a name and a duration. */
export class Span {
  readonly context: TraceContext;
  readonly #end: (span: EndedSpan) => void;
  readonly #facts: Omit<EndedSpan, "endMs">;
  #hasEnded = false;

  constructor(facts: Omit<EndedSpan, "endMs" | "isFailed">, end: (span: EndedSpan) => void) {
    this.context = facts.context;
    this.#facts = { ...facts, isFailed: false };
    this.#end = end;
  }

  /** Renames the span, for a name that is known late. */
  rename(name: string): void {
    this.#facts.name = name;
  }

  set(attributes: WorkFacts): void {
    if (this.context.isSampled) Object.assign(this.#facts.attributes, attributes);
  }

  fail(code: string): void {
    this.#facts.isFailed = true;
    this.set({ "error.type": code });
  }

  /** Marks the span as failed by an error. */
  failWith(error: unknown): void {
    this.fail(codeOf(error));
  }

  /** Ends the span. Further calls do nothing. */
  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    if (this.context.isSampled) this.#end({ ...this.#facts, endMs: nowMs() });
  }
}

/** Returns the code of an error, without any of its text. */
function codeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  const found = [code, name].find((text) => typeof text === "string" && /^\w{1,64}$/.test(text));
  return (found as string | undefined) ?? "error";
}

/** Makes spans, and knows the active one. */
export class Tracer {
  readonly #sampler: Sampler;
  readonly #parent: TraceContext | undefined;
  readonly #onEnded: (span: EndedSpan) => void;
  /** Storage of the active span. */
  readonly store = new AsyncLocalStorage<Span | undefined>();

  /**
   * @param parent of spans that start in this process
   * @param onEnded called with every sampled span
   */
  constructor(sampler: Sampler, parent: TraceContext | undefined, onEnded: (span: EndedSpan) => void) {
    this.#sampler = sampler;
    this.#parent = parent;
    this.#onEnded = onEnded;
  }

  /** Span of the current asynchronous work. */
  get active(): Span | undefined {
    return this.store.getStore();
  }

  /** Starts a span, which has to be ended. */
  start(name: string, { kind = "internal", attributes = {}, parent }: SpanOptions = {}): Span {
    const above = parent === null ? undefined : (parent ?? this.active?.context ?? this.#parent);
    const traceId = above?.traceId ?? randomBytes(16).toString("hex");
    const context: TraceContext = {
      traceId,
      spanId: randomBytes(8).toString("hex"),
      isSampled: this.#sampler(traceId, above),
      ...(above?.state !== undefined && { state: above.state }),
    };
    const facts = { context, parentId: above?.spanId, name, kind: KINDS[kind], startMs: nowMs() };
    return new Span({ ...facts, attributes }, this.#onEnded);
  }

  /** Runs work with a span as the active one. */
  run<T>(span: Span, work: () => T): T {
    return this.store.run(span, work);
  }

  /** Adds a span for work that has ended just now, below the active one; none without an active one. */
  record({ name, durationMs, failed }: Measured): void {
    const above = this.active?.context;
    if (above?.isSampled !== true) return;
    const endMs = nowMs();
    this.#onEnded({
      ...{ context: { ...above, spanId: randomBytes(8).toString("hex") }, parentId: above.spanId },
      ...{ name, kind: KINDS.client, startMs: endMs - durationMs, endMs, attributes: {}, isFailed: failed },
    });
  }
}
