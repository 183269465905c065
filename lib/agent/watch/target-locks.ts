import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { asSealiftError, deploymentError } from "../../contract/errors.ts";
import { type TargetName, targetOfName, targetText } from "../../contract/target.ts";
import { type Layout, layoutOf } from "../../releases/layout.ts";
import { acquireLock, holderOf } from "../../releases/lock.ts";
import { openProjectRoot, type RootOptions } from "../../releases/project-root.ts";
import { makeFolder } from "../../support/files.ts";
import type { WatchTarget } from "./target.ts";

/** Time that an ending watch has to release its targets, in milliseconds. */
const HANDOVER_MS = 1_000;

/** Returns the process that watches a target, and since when; nothing in a root that this process may not enter. */
export async function watcherOf(layout: Layout, target: TargetName, options: RootOptions): Promise<string | undefined> {
  await using root = await openProjectRoot(layout, options).catch(() => undefined);
  return root === undefined ? undefined : await holderOf(root.layout.watchLock(target));
}

const nameOf = ({ source }: WatchTarget): TargetName => source("latest").target;
const keyOf = (target: WatchTarget): string => `${resolve(target.options.projectRoot)}\n${nameOf(target)}`;

/** Locks on the targets of a watch while it runs: two watches of one target would undo each other's work. */
export class TargetLocks implements AsyncDisposable {
  /** Locks by target and project root, in the spelling of the target. */
  readonly #held = new Map<string, AsyncDisposable>();
  readonly #places = new Set<string>();
  /** Serializes calls: configurations may change faster than locks are taken. */
  #turn: Promise<unknown> = Promise.resolve();

  /**
   * Locks targets. A target in a project root that cannot be written stays unlocked: each check says why.
   *
   * @throws DeploymentError `target_watched`
   */
  take(targets: readonly WatchTarget[]): Promise<void> {
    return this.#inTurn(() => this.#take(targets));
  }

  /** Releases all targets but these. */
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
    for (const target of targets) {
      const key = keyOf(target);
      if (this.#held.has(key)) continue;
      try {
        this.#held.set(key, await this.#lock(target));
      } catch (thrown) {
        if (asSealiftError(thrown).code === "target_watched") throw thrown;
      }
    }
  }

  async #keep(targets: readonly WatchTarget[]): Promise<void> {
    const wanted = new Set(targets.map(keyOf));
    for (const [key, lock] of this.#held) {
      if (wanted.has(key)) continue;
      this.#held.delete(key);
      await lock[Symbol.asyncDispose]();
    }
  }

  async #lock(target: WatchTarget): Promise<AsyncDisposable> {
    const [root, name] = [resolve(target.options.projectRoot), nameOf(target)];
    await using opened = new AsyncDisposableStack();
    const { layout } = opened.use(await openProjectRoot(layoutOf(root), target.options));
    await makeFolder(layout.sealift);
    // Two names of one folder: this process already holds its lock.
    const place = `${await realpath(root)}\n${name}`;
    if (this.#places.has(place)) return opened.move();
    const busy = (holder: string) =>
      deploymentError(
        "target_watched",
        `${targetText(targetOfName(name))} in ${root} is watched already, by ${holder}.`,
        {
          hint: "Stop that watch first, or take the target out of one of the two.",
        },
      );
    opened.use(await acquireLock(layout.watchLock(name), { waitMs: HANDOVER_MS, busy }));
    this.#places.add(place);
    opened.defer(() => void this.#places.delete(place));
    return opened.move();
  }
}
