import PQueue from "p-queue";

/**
 * Places for work that waits for hubs. A hub that is slow, or that never answers, can take the places of one hub only:
 * the others go on.
 */
export class HubSlots {
  readonly #perHub: number;
  readonly #hubs = new Map<string, PQueue>();

  /** @param perHub places of each hub */
  constructor(perHub: number) {
    this.#perHub = perHub;
  }

  /** Runs `task` when its hub has a free place. */
  async run<T>(hub: string, task: () => Promise<T>): Promise<T> {
    const queue = this.#hubs.get(hub) ?? new PQueue({ concurrency: this.#perHub });
    this.#hubs.set(hub, queue);
    try {
      return await queue.add(task);
    } finally {
      if (queue.pending + queue.size === 0) this.#hubs.delete(hub);
    }
  }
}
