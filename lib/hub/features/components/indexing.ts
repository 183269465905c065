import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../../support/logging.ts";
import type { Blobs } from "../../blobs/port.ts";
import { byTurns } from "../../publications/upload-turns.ts";
import { inTransaction, type Records } from "../../records/port.ts";
import { claim, giveBack, notePending, pendingByTurns, type PendingList } from "./pending-records.ts";
import { completeList, forgetUnused, storeUses } from "./records.ts";
import type { ComponentBatch } from "./sorted-components.ts";

/** Time without a sign of life after which an indexing counts as interrupted, in milliseconds. */
export const INTERRUPTED_MS = 60 * 1000;
/** Largest SBOM that waits for no larger one, in bytes: some 2,500 components. */
const SMALL_BYTES = 256 * 1024;
/** Components checked per hour for whether any version still has them. */
const HOURLY_COMPONENTS = 20_000;

type IndexedHub = Records & { blobs: Blobs; logger: Logger | undefined };

/**
 * Indexes the SBOMs of stored versions beside the requests. Small and large ones have a lane each, which indexes one at
 * a time by turns of their owners: an owner waits for one SBOM of each other owner at most, and with a small one for
 * small ones only.
 */
export class Indexing implements AsyncDisposable {
  readonly #hub: IndexedHub;
  readonly #lanes: readonly Lane[];
  readonly #again: NodeJS.Timeout;
  #unusedFrom = 0;

  constructor(hub: IndexedHub) {
    this.#hub = hub;
    this.#lanes = [new Lane(hub, [0, SMALL_BYTES]), new Lane(hub, [SMALL_BYTES, Number.MAX_SAFE_INTEGER])];
    // By then an indexing counts as interrupted that the last process of this hub had begun.
    this.#again = setTimeout(() => this.wake(), INTERRUPTED_MS + 1000).unref();
  }

  /** Looks for pending SBOMs, and begins to index them. */
  wake(): void {
    for (const lane of this.#lanes) lane.wake();
  }

  /** Finds SBOMs that nobody has noted, as after a restore, and begins to index them. */
  async find(): Promise<void> {
    await inTransaction(this.#hub.database.kysely, (transaction) => notePending(transaction));
    this.wake();
  }

  /** Removes components of deleted versions, in small steps. */
  async forget(): Promise<void> {
    this.#unusedFrom = await forgetUnused(this.#hub.database.kysely, this.#unusedFrom, HOURLY_COMPONENTS);
  }

  /** Ends after the batches under way; the rest is indexed after the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#again);
    await Promise.all(this.#lanes.map((lane) => lane.end()));
  }
}

/** SBOMs of some sizes, indexed one at a time. */
class Lane {
  readonly #hub: IndexedHub;
  readonly #sizes: readonly [above: number, upTo: number];
  /** Next SBOMs, by turns of their owners. */
  #next: PendingList[] = [];
  /** Owner who had the last turn. */
  #last = "";
  #isStale = false;
  #isEnding = false;
  #running: Promise<void> | undefined;

  constructor(hub: IndexedHub, sizes: readonly [above: number, upTo: number]) {
    this.#hub = hub;
    this.#sizes = sizes;
  }

  wake(): void {
    this.#isStale = true;
    this.#running ??= this.#work().finally(() => {
      this.#running = undefined;
    });
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#running;
  }

  async #work(): Promise<void> {
    const { logger } = this.#hub;
    try {
      for (let list = await this.#take(); list !== undefined; list = await this.#take())
        await this.#index(list).catch((error: unknown) => {
          logger?.warn({ err: error, blob: list.blobId }, "an SBOM waits to be indexed");
        });
    } catch (error) {
      logger?.warn({ err: error }, "SBOMs wait to be indexed");
    }
  }

  async #take(): Promise<PendingList | undefined> {
    const { database, clock } = this.#hub;
    while (!this.#isEnding) {
      const [now, before] = [clock(), clock() - INTERRUPTED_MS];
      if (this.#isStale || this.#next.length === 0) {
        this.#isStale = false;
        this.#next = await pendingByTurns(database.kysely, this.#sizes, { last: this.#last, before });
      }
      const list = this.#next.shift();
      if (list === undefined) {
        if (this.#isStale) continue;
        return undefined;
      }
      this.#last = list.owner;
      if (await claim(database.kysely, list, { now, before })) return list;
    }
    return undefined;
  }

  async #index({ id, blobId, size }: PendingList): Promise<void> {
    const { database, blobs, clock } = this.#hub;
    try {
      for await (const batch of componentsOf(byTurns(await blobs.read(blobId)), size)) {
        if (this.#isEnding) throw new Stopped();
        const begun = performance.now();
        if (!(await storeUses(database.kysely, id, batch, clock()))) throw new Stopped();
        // Requests get as much of the time as the indexing.
        await sleep(performance.now() - begun);
      }
      await completeList(database.kysely, id);
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      if (this.#isEnding) await giveBack(database.kysely, id);
    }
  }
}

/** Reads an SBOM: a large one on a thread, whose start costs more than a small one takes. */
async function* componentsOf(bytes: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<ComponentBatch> {
  if (size <= SMALL_BYTES) {
    const { sortedComponents } = await import("./sorted-components.ts");
    yield* sortedComponents(bytes);
  } else {
    const whole = await buffer(bytes);
    const { componentsByThread } = await import("./components-thread.ts");
    yield* componentsByThread(whole);
  }
}

/** Error that ends an indexing whose version is gone, or whose hub closes. */
class Stopped extends Error {}
