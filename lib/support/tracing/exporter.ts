import { isAbort } from "../../contract/errors.ts";
import { exchange, ImproperAnswerError, SilenceError } from "../network/exchange.ts";
import { settledWithin } from "../within.ts";
import type { WorkFacts } from "../work.ts";
import type { TracingSettings } from "./settings.ts";
import type { EndedSpan } from "./tracer.ts";

/** Most waiting spans; further ones are dropped and counted. */
const MAX_WAITING = 4096;
const MAX_BATCH = 512;
const INTERVAL_MS = 5000;
/** Longest wait for a collector at the program's end, in milliseconds. */
const CLOSE_MS = 2000;

/** Statuses after which the same spans are sent again (OTLP/HTTP, "Retryable Response Codes"). */
const RETRYABLE = new Set([429, 502, 503, 504]);

/** Sends spans to a collector in batches. Traces are a help: no work waits or fails for them. */
export class Exporter {
  readonly #settings: TracingSettings;
  readonly #version: string;
  readonly #warn: (message: string) => void;
  #waiting: EndedSpan[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<boolean> | undefined;
  #dropped = 0;
  #hasWarned = false;

  constructor(settings: TracingSettings, version: string, warn: (message: string) => void) {
    this.#settings = settings;
    this.#version = version;
    this.#warn = warn;
  }

  readonly add = (span: EndedSpan): void => {
    if (this.#waiting.length >= MAX_WAITING) {
      this.#dropped++;
      return;
    }
    if (this.#waiting.push(span) === MAX_BATCH) void this.#flush();
    this.#schedule();
  };

  /** Sends waiting spans, for a limited time, and reports how many were lost. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await settledWithin(this.#flush(), CLOSE_MS);
    const lost = this.#dropped + this.#waiting.length;
    if (lost > 0) this.#warn(`${lost} spans of traces were lost.`);
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#flush().then(() => {
        if (this.#waiting.length > 0) this.#schedule();
      });
    }, INTERVAL_MS).unref();
  }

  async #flush(): Promise<void> {
    await this.#sending;
    while (this.#waiting.length > 0) if (!(await this.#send())) return;
  }

  /** Sends a batch. @returns whether sending more now is worthwhile */
  #send(): Promise<boolean> {
    return (this.#sending ??= this.#sendBatch().finally(() => (this.#sending = undefined)));
  }

  async #sendBatch(): Promise<boolean> {
    const batch = this.#waiting.slice(0, MAX_BATCH);
    if (batch.length === 0) return true;
    const answer = await this.#post(otlpRequest(batch, this.#settings.resource, this.#version));
    const isDone = typeof answer === "number" && answer < 300;
    if (isDone) this.#hasWarned = false;
    else if (!this.#hasWarned) {
      this.#hasWarned = true;
      const why = typeof answer === "number" ? `it answered ${answer}` : answer;
      this.#warn(`The collector of traces at ${this.#settings.url.origin} takes none: ${why}.`);
    }
    // Without an answer the collector may be back later.
    if (typeof answer !== "number" || RETRYABLE.has(answer)) return false;
    this.#waiting = this.#waiting.slice(batch.length);
    if (!isDone) this.#dropped += batch.length;
    return true;
  }

  /** Posts a batch. @returns the status of the answer, or why there was none */
  async #post(body: string): Promise<number | string> {
    const { url, headers, timeoutMs } = this.#settings;
    const all = {
      ...{ "user-agent": "sealift", ...headers },
      ...{ "content-type": "application/json", "content-length": Buffer.byteLength(body) },
    };
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      // Redirects are not followed: the headers are for this address.
      const answer = await exchange(url, { method: "POST", headers: all, timeoutMs, signal }, body);
      answer.body.on("error", () => {}).destroy();
      return answer.status;
    } catch (error) {
      if (error instanceof ImproperAnswerError) return `it ${error.message}`;
      if (error instanceof SilenceError || isAbort(error)) return "it did not answer in time";
      const { code, name } = error as NodeJS.ErrnoException;
      return code ?? name;
    }
  }
}

type Value = { stringValue: string } | { boolValue: boolean } | { intValue: string } | { doubleValue: number };

const valueOf = (value: string | number | boolean): Value => {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
};

const attributesOf = (attributes: WorkFacts): { key: string; value: Value }[] =>
  Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: valueOf(value) }]));

/** Formats milliseconds as nanoseconds since 1970 in text, which a number cannot hold. */
const nanoseconds = (ms: number): string => `${Math.floor(ms)}${String(Math.floor((ms % 1) * 1e6)).padStart(6, "0")}`;

/** Returns the body of a request to a collector: `ExportTraceServiceRequest` in the JSON form of OTLP 1. */
function otlpRequest(spans: readonly EndedSpan[], resource: Record<string, string>, version: string): string {
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
