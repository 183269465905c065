import { AsyncLocalStorage } from "node:async_hooks";
import { randomBytes } from "node:crypto";
import type { Sampler } from "./settings.ts";
import { type TraceContext, traceHeaders } from "./trace-context.ts";

export type Attributes = Record<string, string | number | boolean | undefined>;

/** The numbers of OTLP. */
const KINDS = { internal: 1, server: 2, client: 3 } as const;
export type SpanKind = keyof typeof KINDS;

/** A span that has ended. Times are milliseconds since 1970. */
export interface EndedSpan {
  context: TraceContext;
  parentId: string | undefined;
  name: string;
  kind: (typeof KINDS)[SpanKind];
  startMs: number;
  endMs: number;
  attributes: Attributes;
  isFailed: boolean;
}

export interface SpanOptions {
  kind?: SpanKind | undefined;
  attributes?: Attributes;
  /** Default: the active span. Null begins a trace. */
  parent?: TraceContext | null | undefined;
}

const nowMs = (): number => performance.timeOrigin + performance.now();

/** The part of a span that its work may change. */
export interface OpenSpan {
  /** Adds facts. Never secrets, and no texts of errors: they leave this machine. */
  set(attributes: Attributes): void;
  /** Marks the span as failed, with an error code. */
  fail(code: string): void;
}

/** A piece of work with a name and a time. */
export class Span implements OpenSpan {
  readonly context: TraceContext;
  readonly #end: (span: EndedSpan) => void;
  readonly #facts: Omit<EndedSpan, "endMs">;
  #hasEnded = false;

  constructor(facts: Omit<EndedSpan, "endMs" | "isFailed">, end: (span: EndedSpan) => void) {
    this.context = facts.context;
    this.#facts = { ...facts, isFailed: false };
    this.#end = end;
  }

  /** Another name, for a span whose name is known late. */
  rename(name: string): void {
    this.#facts.name = name;
  }

  set(attributes: Attributes): void {
    if (this.context.isSampled) Object.assign(this.#facts.attributes, attributes);
  }

  fail(code: string): void {
    this.#facts.isFailed = true;
    this.set({ "error.type": code });
  }

  /** Ends the span. A second time does nothing. */
  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    if (this.context.isSampled) this.#end({ ...this.#facts, endMs: nowMs() });
  }
}

/** The code of an error, and no text of it. */
function codeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  const found = [code, name].find((text) => typeof text === "string" && /^\w{1,64}$/.test(text));
  return (found as string | undefined) ?? "error";
}

/** Makes spans, and knows which one is active. */
export class Tracer {
  readonly #sampler: Sampler;
  readonly #parent: TraceContext | undefined;
  readonly #onEnded: (span: EndedSpan) => void;
  readonly #active = new AsyncLocalStorage<Span>();

  /**
   * @param parent of spans that begin in this process
   * @param onEnded hears of every sampled span
   */
  constructor(sampler: Sampler, parent: TraceContext | undefined, onEnded: (span: EndedSpan) => void) {
    this.#sampler = sampler;
    this.#parent = parent;
    this.#onEnded = onEnded;
  }

  /** The span that this asynchronous work belongs to. */
  get active(): Span | undefined {
    return this.#active.getStore();
  }

  /** Returns the headers that continue the active span elsewhere; undefined without one. */
  headers(): Record<string, string> | undefined {
    const { active } = this;
    return active && traceHeaders(active.context);
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
    return new Span({ ...facts, attributes: { ...attributes } }, this.#onEnded);
  }

  /** Does some work with a span as the active one. */
  run<T>(span: Span, work: () => T): T {
    return this.#active.run(span, work);
  }

  /** Does some work in a span of its own, which ends with it. */
  async traced<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T> {
    const span = this.start(name, options);
    try {
      return await this.run(span, () => work(span));
    } catch (error) {
      span.fail(codeOf(error));
      throw error;
    } finally {
      span.end();
    }
  }

  /** Adds a span for work that has ended just now, below the active one; none without an active one. */
  record(name: string, durationMs: number, attributes: Attributes, isFailed: boolean): void {
    const above = this.active?.context;
    if (above?.isSampled !== true) return;
    const endMs = nowMs();
    this.#onEnded({
      ...{ context: { ...above, spanId: randomBytes(8).toString("hex") }, parentId: above.spanId },
      ...{ name, kind: KINDS.client, startMs: endMs - durationMs, endMs, attributes, isFailed },
    });
  }
}
