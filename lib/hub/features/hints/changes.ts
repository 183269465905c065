import type { Logger } from "../../../support/logging.ts";
import { openChangeFeed } from "../../records/change-feed.ts";
import type { Database } from "../../records/port.ts";

/** Time over which changes are merged into one hint, in milliseconds: a publication makes several. */
const GATHER_MS = 50;

/**
 * Called with changes. @param projectIds ids of the changed projects, plugins and services; undefined when changes may
 * have been missed, so that any of them may have changed
 */
export type HearChanges = (projectIds: ReadonlySet<string> | undefined) => void;

/**
 * Port for everything live in a hub: reports which projects, plugins and services may now answer "latest" differently,
 * because a version was published, yanked, restored or deleted, a detail record changed, or the gate moved. Every hub
 * of a database hears of all changes within 0.3 s of their commit. A change is a reason to look, not the truth itself:
 * it may be reported twice, and also to subscribers that must not see the project.
 *
 * The opening of a time window is not a change: answers announce it (`next.not_before`).
 */
export class Changes implements AsyncDisposable {
  readonly #hearers = new Set<HearChanges>();
  readonly #end: () => Promise<void>;
  #gathered = new Set<string>();
  #hasMissed = false;
  #timer: NodeJS.Timeout | undefined;
  /** Time since which the database cannot be listened to, by `performance.now()`. */
  #failingSince: number | undefined;

  constructor(database: Database, logger?: Logger) {
    this.#end = openChangeFeed(database, {
      changed: (id) => {
        this.#gathered.add(id);
        this.#tellSoon();
      },
      missed: () => {
        this.#hasMissed = true;
        this.#tellSoon();
      },
      failed: (error) => {
        this.#failingSince ??= performance.now();
        logger?.warn({ err: error }, "cannot hear of changes for now; agents will poll");
      },
      works: () => {
        this.#failingSince = undefined;
      },
    });
  }

  /** Milliseconds for which changes could not be heard of until now. */
  get deafForMs(): number {
    return this.#failingSince === undefined ? 0 : performance.now() - this.#failingSince;
  }

  /** Reports all changes from now on, at most once in 50 ms. Dispose the result to unsubscribe. */
  subscribe(hear: HearChanges): Disposable {
    this.#hearers.add(hear);
    return { [Symbol.dispose]: () => void this.#hearers.delete(hear) };
  }

  #tellSoon(): void {
    this.#timer ??= setTimeout(() => {
      const changed = this.#hasMissed ? undefined : this.#gathered;
      this.#timer = undefined;
      this.#gathered = new Set();
      this.#hasMissed = false;
      for (const hear of this.#hearers) hear(changed);
    }, GATHER_MS).unref();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    await this.#end();
  }
}
