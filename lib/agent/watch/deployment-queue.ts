import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import PQueue from "p-queue";

/**
 * Most simultaneous deployments from one hub, each in a project root of its own: more would only share the same line.
 */
const AT_ONCE = 2;

/** Queues deployments: never two in one project root, and few at a time from one hub. */
export class DeploymentQueue {
  readonly #slots = new HubSlots(AT_ONCE);
  readonly #aheadSlots = new HubSlots(AT_ONCE);
  readonly #roots = new Map<string, PQueue>();

  /** Runs `task` when its project root and a place are free. The task itself must check whether it is still wanted. */
  async run<T>({ projectRoot, hub }: { projectRoot: string; hub: string }, task: () => Promise<T>): Promise<T> {
    return this.alone(projectRoot, () => this.#slots.run(hub, task));
  }

  /**
   * Runs `task`, which only fetches, when its hub has a place for that; deployments do not wait for it. `signal` ends
   * the wait; the task must handle it, too.
   */
  async ahead<T>(hub: string, signal: AbortSignal, task: () => Promise<T>): Promise<T> {
    let started: Promise<T> | undefined;
    try {
      return await this.#aheadSlots.run(hub, () => (started = task()), signal);
    } finally {
      await started?.catch(() => undefined);
    }
  }

  /** Runs `task` when nothing else of this process works in its project root. */
  async alone<T>(projectRoot: string, task: () => Promise<T>): Promise<T> {
    const root = await realRoot(projectRoot);
    const queue = this.#roots.get(root) ?? new PQueue({ concurrency: 1 });
    this.#roots.set(root, queue);
    return queue.add(task);
  }
}

/** Returns the canonical name of a project root, whatever links lead to it; it need not exist yet. */
export async function realRoot(projectRoot: string): Promise<string> {
  const path = resolve(projectRoot);
  const parent = dirname(path);
  return realpath(path).catch(async () => (parent === path ? path : join(await realRoot(parent), basename(path))));
}

/** Places for work that waits for hubs. A slow or silent hub can occupy its own places only. */
export class HubSlots {
  readonly #perHub: number;
  readonly #hubs = new Map<string, PQueue>();

  /** @param perHub number of places per hub */
  constructor(perHub: number) {
    this.#perHub = perHub;
  }

  /** Runs `task` when its hub has a free place. @param signal ends the wait */
  async run<T>(hub: string, task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const queue = this.#hubs.get(hub) ?? new PQueue({ concurrency: this.#perHub });
    this.#hubs.set(hub, queue);
    try {
      return await queue.add(task, signal && { signal });
    } finally {
      if (queue.pending + queue.size === 0) this.#hubs.delete(hub);
    }
  }
}
