import { appendFileSync } from "node:fs";
import { threadId } from "node:worker_threads";

/** Shortest wait with a span of its own, in milliseconds; shorter ones count in the sums only. */
const SPAN_MS = 0.05;

const now = (): number => performance.timeOrigin + performance.now();

let lanes = 0;

/**
 * Trace of one lane of a pipeline: a step that runs beside others and waits for them. Its trace events are appended to
 * a file when it ends; Perfetto shows them, and `scripts/lanes.ts` sums them up.
 */
export class LaneTrace implements Disposable {
  readonly #file: string;
  readonly #tid = threadId * 100 + lanes++;
  readonly #begun = now();
  readonly #events: object[];
  /** Milliseconds waited, by cause. */
  readonly #waits: Record<string, number> = {};
  readonly #idleMs = performance.eventLoopUtilization().idle;
  #isEnded = false;

  /**
   * @param file to append to
   * @param lane name of the step
   */
  constructor(file: string, lane: string) {
    this.#file = file;
    this.#events = [{ name: "thread_name", ph: "M", ...this.#place, args: { name: lane } }];
  }

  get #place(): { pid: number; tid: number } {
    return { pid: process.pid, tid: this.#tid };
  }

  /** Begins a wait. @param cause lane that is waited for @returns a function to call when it is over */
  begin(cause: string): () => void {
    const begun = now();
    return () => {
      const ms = now() - begun;
      this.#waits[cause] = (this.#waits[cause] ?? 0) + ms;
      if (ms >= SPAN_MS) this.#span(cause, begun, ms);
    };
  }

  /** Records how many slots of the lane's ring are filled. */
  slots(filled: number): void {
    this.#events.push({ name: "ring", ph: "C", ts: now() * 1000, ...this.#place, args: { filled } });
  }

  /** Ends the lane and writes its events. Does nothing when it is called again. */
  [Symbol.dispose](): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const threadIdle = performance.eventLoopUtilization().idle - this.#idleMs;
    this.#span("lane", this.#begun, now() - this.#begun, { waits: this.#waits, thread_idle: threadIdle });
    // The closing bracket of a list of trace events is optional, so that other lanes can append theirs.
    const lines = this.#events.map((event) => `${JSON.stringify(event)},\n`).join("");
    try {
      appendFileSync(this.#file, lines);
    } catch {
      // Best effort: never fails the traced work.
    }
  }

  #span(name: string, begun: number, ms: number, args: object = {}): void {
    this.#events.push({ name, ph: "X", ts: begun * 1000, dur: ms * 1000, ...this.#place, args });
  }
}

/** Returns the file that lanes are traced to: the value of SEALIFT_PIPELINE_TRACE. Undefined without one. */
export function traceFile(): string | undefined {
  return process.env["SEALIFT_PIPELINE_TRACE"] || undefined;
}

/** Starts the trace of a lane. @param file undefined when nothing is traced */
export const traceLane = (lane: string, file = traceFile()): LaneTrace | undefined =>
  file === undefined ? undefined : new LaneTrace(file, lane);

/** Traces a wait of a lane. @param cause lane that is waited for @returns the promise itself when nothing is traced */
export const waiting = <T>(lane: LaneTrace | undefined, cause: string, promise: Promise<T>): Promise<T> =>
  lane === undefined ? promise : promise.finally(lane.begin(cause));

/** Passes a stream on; the waits for its chunks are a lane's, if that is traced. */
export function waitingFor<T>(lane: LaneTrace | undefined, cause: string, source: AsyncIterable<T>): AsyncIterable<T> {
  return lane === undefined ? source : tracedWaits(lane, cause, source);
}

async function* tracedWaits<T>(lane: LaneTrace, cause: string, source: AsyncIterable<T>): AsyncGenerator<T> {
  let end = lane.begin(cause);
  for await (const each of source) {
    end();
    yield each;
    end = lane.begin(cause);
  }
  end();
}
