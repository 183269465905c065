import type { EmitWatch, WatchedTarget, WatchEvent } from "./events.ts";
import type { WatchMemory } from "./state.ts";
import { factsAfter, factsAtStart, stateOf, type TargetFacts, type TargetState } from "./target-state.ts";

/** Keeps the state that a target's events lead to in its memory, where `sealift status` finds it. Best effort. */
export class StateRecord {
  readonly #memory: WatchMemory;
  #facts: TargetFacts | undefined;
  #kept: TargetState | undefined;

  constructor(memory: WatchMemory) {
    this.#memory = memory;
  }

  begin(target: WatchedTarget): void {
    this.#facts = factsAtStart(target, this.#facts);
  }

  /** Returns a function that passes events on and hears them. */
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
    // In the middle of a turn only a deployment takes so long that somebody would look.
    if (is === this.#kept || (event.event !== "check.scheduled" && is !== "deploying")) return;
    this.#kept = is;
    void this.#keep({ is, since: new Date().toISOString() });
  }

  /** The watch of the target has ended: nobody tells its state any more. */
  async end(): Promise<void> {
    this.#facts = undefined;
    if (this.#kept !== undefined) await this.#keep(undefined);
  }

  #keep(state: { is: TargetState; since: string } | undefined): Promise<void> {
    return this.#memory.change({ state }).catch(() => undefined);
  }
}
