/** Length from which a body takes turns, in bytes: a shorter one takes a fraction of a millisecond. */
const LARGE = 32 * 1024;

/**
 * Turns of plugins for parsing large bodies: one body per turn of the event loop, so that callers of one plugin hold up
 * another plugin's calls for one body at most.
 */
export class BodyTurns {
  /** Waiting work by plugin; the plugin in front has the next turn. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isScheduled = false;

  /** Runs work on a body: at once for a small one, else when it is the plugin's turn. @param work never throws */
  take(plugin: string, length: number, work: () => void): void {
    if (length < LARGE) return work();
    const own = this.#waiting.get(plugin);
    if (own === undefined) this.#waiting.set(plugin, [work]);
    else own.push(work);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      const [next] = this.#waiting;
      if (next === undefined) return;
      const [plugin, [work, ...others]] = next as [string, [() => void, ...(() => void)[]]];
      this.#waiting.delete(plugin);
      // Behind all others.
      if (others.length > 0) this.#waiting.set(plugin, others);
      if (this.#waiting.size > 0) this.#schedule();
      work();
    });
  }
}

/** Turns of this process, whose event loop all plugins share. */
export const bodyTurns = new BodyTurns();
