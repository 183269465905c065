/** Milliseconds in which a loop that is not blocked takes note of a cancellation or a question. */
export const NOTE_MS = 20;

/** The doubt whether the event loop of a process is blocked. */
export class LoopDoubt {
  #suspicion: PromiseWithResolvers<void> | undefined;
  #question: PromiseWithResolvers<void> | undefined;
  #isAsked = false;

  /**
   * Resolves when the loop has answered the last cancellation, or the process has ended; absent when there is no doubt.
   * Until then the loop may be blocked, and no call should be sent there.
   */
  get suspicion(): Promise<void> | undefined {
    return this.#suspicion?.promise;
  }

  /** Resolves when a loop that gave no answer goes on, or has let the time of a call pass; absent for any other. */
  get question(): Promise<void> | undefined {
    return this.#question?.promise;
  }

  /** Asks the loop whether it goes on. @param silent hears when no answer comes */
  ask(ping: () => void, silent: () => void): void {
    if (this.#isAsked || this.#suspicion !== undefined) return;
    this.#isAsked = true;
    ping();
    setTimeout(() => {
      if (!this.#isAsked) return;
      this.#question ??= Promise.withResolvers();
      silent();
    }, NOTE_MS).unref();
  }

  /** The loop has answered. Returns false when it was not asked. */
  answered(): boolean {
    if (!this.#isAsked) return false;
    this.#isAsked = false;
    // Else the cancellation is what it has to take note of.
    if (this.#suspicion === undefined) this.settle();
    return true;
  }

  /** The time of a call is over. */
  suspect(): void {
    this.#suspicion ??= Promise.withResolvers();
  }

  /** It is known whether the loop goes on. */
  settle(): void {
    this.#question?.resolve();
    this.#question = undefined;
  }

  /** The loop goes on, or its process has ended. */
  clear(): void {
    this.#suspicion?.resolve();
    this.#suspicion = undefined;
    this.settle();
  }
}
