import type { Logger } from "../../../support/logging.ts";
import { openChangeFeed } from "../../records/change-feed.ts";
import type { Database } from "../../records/port.ts";

/** Time over which changes are collected into one hint: a publication is several. Milliseconds. */
const GATHER_MS = 50;

/**
 * Hears of changes. @param projectIds the changed projects, plugins and services, by their ids in the database;
 * undefined when changes may have been missed, and any of them may have changed
 */
export type HearChanges = (projectIds: ReadonlySet<string> | undefined) => void;

/**
 * The port for all that is live in a hub: tells which projects, plugins and services may answer "latest" anew, because
 * a version was published, yanked, restored or deleted, a detail record was described anew, or the gate has moved.
 * Every hub of a database hears of the changes of all, some 0.3 s after they were committed at the most. A change is
 * a reason to look, and never the truth itself: it may be told twice, and to somebody who must not see the project.
 *
 * The opening of a window by time is no change: answers say it before (`next.not_before`).
 */
export class Changes implements AsyncDisposable {
  readonly #hearers = new Set<HearChanges>();
  readonly #end: () => Promise<void>;
  #gathered = new Set<string>();
  #hasMissed = false;
  #timer: NodeJS.Timeout | undefined;

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
      failed: (error) => logger?.warn({ err: error }, "cannot hear of changes for now; agents go on polling"),
    });
  }

  /** Tells of all changes from now on, at most once in 50 ms. Dispose the answer to hear no more. */
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
