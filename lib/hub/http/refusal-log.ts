import type { Logger } from "../../support/logging.ts";

/** Time in which refusals for one reason share a log line, in milliseconds. */
const WINDOW_MS = 1000;

/** Refused request, as logged. */
export interface RefusedRequest {
  /** Reason given to the client. */
  refusal: string;
  requestId: string;
  [fact: string]: unknown;
}

interface Window {
  /** Refusals since the last line. */
  count: number;
  last: RefusedRequest;
}

/**
 * Logs the refusals of an overload: the first one for a reason at once, later ones as one line a second with their
 * number. At `debug` each has its own line, too.
 */
export class RefusalLog {
  readonly #logger: Logger;
  readonly #windows = new Map<string, Window>();
  #timer: NodeJS.Timeout | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  tell(request: RefusedRequest): void {
    const window = this.#windows.get(request.refusal);
    if (window === undefined) {
      this.#windows.set(request.refusal, { count: 0, last: request });
      this.#logger.error(request, "request");
    } else {
      window.count += 1;
      window.last = request;
      this.#logger.debug(request, "request");
    }
    this.#timer ??= setInterval(() => this.#tellCounts(), WINDOW_MS).unref();
  }

  #tellCounts(): void {
    for (const [refusal, { count, last }] of this.#windows) {
      if (count === 0) {
        this.#windows.delete(refusal);
        continue;
      }
      this.#windows.set(refusal, { count: 0, last });
      this.#logger.error({ refusal, refused: count, lastRequestId: last.requestId }, "refused more requests");
    }
    if (this.#windows.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Writes the last counts. */
  [Symbol.dispose](): void {
    this.#tellCounts();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
