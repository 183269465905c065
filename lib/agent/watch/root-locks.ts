import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { asSealiftError, deploymentError } from "../../contract/errors.ts";
import { type Layout, layoutOf } from "../../releases/layout.ts";
import { acquireLock, holderOf } from "../../releases/lock.ts";
import { openProjectRoot, type RootOptions } from "../../releases/project-root.ts";
import { makeFolder } from "../../support/files.ts";
import type { WatchTarget } from "./target.ts";

/** Milliseconds in which a watch that was told to end may give its project roots up. */
const HANDOVER_MS = 1_000;

/** Returns what is known of the process that watches a project root; nothing of one that this process may not enter. */
export async function watcherOf(layout: Layout, options: RootOptions): Promise<string | undefined> {
  await using root = await openProjectRoot(layout, options).catch(() => undefined);
  return root === undefined ? undefined : await holderOf(root.layout.watchLock);
}

/** The project roots of a watch, each locked for it while it runs: two watches would each undo what the other does. */
export class RootLocks implements AsyncDisposable {
  /** By the path that the targets name. */
  readonly #held = new Map<string, AsyncDisposable>();
  readonly #places = new Set<string>();
  readonly #waitMs: number;
  /** Configurations may come faster than locks are taken. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(waitMs = HANDOVER_MS) {
    this.#waitMs = waitMs;
  }

  /**
   * Locks the project roots of targets. One that cannot be written stays without a lock: each check says why.
   *
   * @throws DeploymentError `root_watched`
   */
  take(targets: readonly WatchTarget[]): Promise<void> {
    return this.#inTurn(() => this.#take(targets));
  }

  /** Gives up the project roots that none of these targets is in. */
  keep(targets: readonly WatchTarget[]): Promise<void> {
    return this.#inTurn(() => this.#keep(targets));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.keep([]);
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  async #take(targets: readonly WatchTarget[]): Promise<void> {
    for (const { options } of targets) {
      const path = resolve(options.projectRoot);
      if (this.#held.has(path)) continue;
      try {
        this.#held.set(path, await this.#lock(path, options));
      } catch (thrown) {
        if (asSealiftError(thrown).code === "root_watched") throw thrown;
      }
    }
  }

  async #keep(targets: readonly WatchTarget[]): Promise<void> {
    const wanted = new Set(targets.map(({ options }) => resolve(options.projectRoot)));
    for (const [path, lock] of this.#held) {
      if (wanted.has(path)) continue;
      this.#held.delete(path);
      await lock[Symbol.asyncDispose]();
    }
  }

  async #lock(path: string, options: WatchTarget["options"]): Promise<AsyncDisposable> {
    await using opened = new AsyncDisposableStack();
    const { layout } = opened.use(await openProjectRoot(layoutOf(path), options));
    await makeFolder(layout.sealift);
    // Two names of one folder: this process has its lock already.
    const place = await realpath(path);
    if (this.#places.has(place)) return opened.move();
    const busy = (holder: string) =>
      deploymentError("root_watched", `The project root ${path} is watched already, by ${holder}.`, {
        hint: "Stop that watch first, or add the targets to its watch.yaml and send it SIGHUP.",
      });
    opened.use(await acquireLock(layout.watchLock, { waitMs: this.#waitMs, busy }));
    this.#places.add(place);
    opened.defer(() => void this.#places.delete(place));
    return opened.move();
  }
}
