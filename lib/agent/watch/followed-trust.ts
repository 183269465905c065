import type { Layout } from "../../releases/layout.ts";
import type { AgentEvent, Emit } from "../base/events.ts";
import type { Source } from "../sources/source.ts";

/** Pause between two questions to further places than the hub, in milliseconds. */
const OTHERS_MS = 60 * 60_000;

/** Trust root of one watched target: a newer version that the hub names is followed by the check that hears of it. */
export class FollowedTrust {
  readonly #emit: Emit;
  #othersAsked = -Infinity;
  #refused: string | undefined;

  constructor(emit: Emit) {
    this.#emit = emit;
  }

  /**
   * Follows the root of the target, if it follows one. Tells the same refusal once, not at every check.
   *
   * @param named newest version that the hub has named
   * @throws UsageError, ArtifactError for the operator's own files
   */
  async follow(source: Source, layout: Layout, named: number | undefined, signal: AbortSignal): Promise<void> {
    if (source.followRoot === undefined) return;
    const now = performance.now();
    const asksOthers = now - this.#othersAsked >= OTHERS_MS;
    if (asksOthers) this.#othersAsked = now;
    const emit = (event: AgentEvent): void => {
      if (event.event === "trust.refused") {
        const refused = `${event.origin} ${event.code} ${event.message}`;
        if (refused === this.#refused) return;
        this.#refused = refused;
      } else if (event.event === "trust.followed") this.#refused = undefined;
      this.#emit(event);
    };
    await source.followRoot({ layout, emit, signal }, named, asksOthers);
  }
}
