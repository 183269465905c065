import { collectGarbage } from "../../support/buffer-pacing.ts";
import type { WatchEvent } from "./events.ts";

/** Time without news after which a watch is at rest, in milliseconds. */
const REST_MS = 10_000;
/** Events of a watch that only looks. */
const LOOKS: ReadonlySet<WatchEvent["event"]> = new Set(["check.started", "check.done", "check.scheduled"]);

/**
 * Gives the memory of a start or of a deployment back to the system once nothing but checks follows. V8 would keep it:
 * an idle watch allocates too little for a full collection.
 */
export class AtRest implements Disposable {
  readonly #timer: NodeJS.Timeout;

  /** @param giveBack,restMs replaced by tests */
  constructor(giveBack = () => collectGarbage("major"), restMs = REST_MS) {
    this.#timer = setTimeout(giveBack, restMs).unref();
  }

  /** Waits anew after each event but those of checks. */
  readonly observe = ({ event }: WatchEvent): void => {
    if (!LOOKS.has(event)) this.#timer.refresh();
  };

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
