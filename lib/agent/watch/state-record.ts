import type { EmitWatch, WatchedTarget, WatchEvent } from "./events.ts";
import type { WatchMemory } from "./state.ts";
import { factsAfter, factsAtStart, stateOf, type TargetFacts, type TargetState } from "./target-state.ts";

/** Code with which a hub refuses a host that was removed. */
const REMOVED = "host_removed";

/** Records the state that a target's events lead to, for `sealift status`. Best effort. */
export class StateRecord {
  readonly #memory: WatchMemory;
  #facts: TargetFacts | undefined;
  #kept: TargetState | undefined;

  constructor(memory: WatchMemory) {
    this.#memory = memory;
  }

  /** Begins with the state in which a watch finds its target. @returns the target */
  begin(target: WatchedTarget): WatchedTarget {
    this.#facts = factsAtStart(target, this.#facts);
    return target;
  }

  /** Returns a function that passes events on and records the state. */
  hearing(emit: EmitWatch): EmitWatch {
    return (event) => {
      emit(event);
      this.#hear(event);
    };
  }

  #hear(event: WatchEvent): void {
    if (this.#facts === undefined) return;
    this.#facts = factsAfter(this.#facts, event, Date.now());
    const is = stateOf(this.#facts);
    // Within a turn only a deployment takes long enough to be looked at. A host that was removed has no more turns.
    const isLasting = event.event === "check.scheduled" || (event.event === "check.failed" && event.code === REMOVED);
    if (is === this.#kept || (!isLasting && is !== "deploying")) return;
    this.#kept = is;
    void this.#keep({ is, since: new Date().toISOString() });
  }

  /** Clears the state: the watch of the target has ended, and nobody updates it any more. */
  async end(): Promise<void> {
    this.#facts = undefined;
    if (this.#kept !== undefined) await this.#keep(undefined);
  }

  #keep(state: { is: TargetState; since: string } | undefined): Promise<void> {
    return this.#memory.change({ state }).catch(() => undefined);
  }
}
