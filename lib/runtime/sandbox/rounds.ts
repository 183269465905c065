/** Milliseconds between two rounds while something works. */
export const ROUND_MS = 125;
/** Rounds in the time of one while nothing works: a plugin that begins to is seen after 250 ms at most. */
export const IDLE_ROUNDS = 2;

/** Looks at a sandbox. @returns whether to come back at the next round, and not only at the next idle one */
type Look = (round: number) => boolean;

/**
 * Looks at all sandboxes on one timer: a timer for each would wake an idle runtime as often as there are sandboxes.
 */
export class Rounds {
  readonly #looks = new Set<Look>();
  #timer: NodeJS.Timeout | undefined;
  #round = 0;

  /** Calls `look` from the next round on. @returns what ends that */
  join(look: Look): () => void {
    this.#looks.add(look);
    if (this.#timer === undefined) this.#await(1);
    return () => {
      this.#looks.delete(look);
      if (this.#looks.size > 0) return;
      clearTimeout(this.#timer);
      this.#timer = undefined;
    };
  }

  #await(rounds: number): void {
    this.#timer = setTimeout(() => {
      this.#round += rounds;
      this.#timer = undefined;
      let isBusy = false;
      for (const look of this.#looks) isBusy = look(this.#round) || isBusy;
      if (this.#looks.size > 0 && this.#timer === undefined) this.#await(isBusy ? 1 : IDLE_ROUNDS);
    }, rounds * ROUND_MS).unref();
  }
}

/** Those of this process. */
export const rounds = new Rounds();
