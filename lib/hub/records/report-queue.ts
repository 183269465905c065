import { StorageError, storageTrouble } from "../base/storage-error.ts";
import type { FleetKey } from "./fleet.ts";
import type { Queries } from "./port.ts";
import { type IncomingReport, storeReports } from "./reports.ts";

/** Most reports of one transaction. */
const MAX_TOGETHER = 64;
/**
 * Most characters of records per transaction, unless one record alone has more: a report may name thousands of plugins.
 */
const MAX_CHARACTERS = 1_000_000;
/** Most waiting reports of one view, each of which holds a connection of its sender. */
const MAX_WAITING = 2000;

interface Waiting extends PromiseWithResolvers<void> {
  report: IncomingReport;
}

/**
 * Returns how many of the first reports are stored together: a power of two, so that there are few distinct statements.
 */
function countTogether(queue: readonly Waiting[]): number {
  let count = 1;
  for (let characters = queue[0]!.report.record.length; count < Math.min(queue.length, MAX_TOGETHER); count++) {
    characters += queue[count]!.report.record.length;
    if (characters > MAX_CHARACTERS) break;
  }
  return 2 ** Math.floor(Math.log2(count));
}

/**
 * Queue of reports to be stored in PostgreSQL. Reports of one view would wait for the row that counts its changes, so
 * each view has one transaction at a time on one connection, and reports that arrive meanwhile form the next one.
 */
export class ReportQueue {
  readonly #db: Queries;
  /** Waiting reports, for each view with a transaction under way. */
  readonly #views = new Map<string, Waiting[]>();

  readonly #areTogether: boolean;
  readonly #onStored: (view: FleetKey) => void;

  /**
   * @param areTogether false for SQLite, which commits concurrent transactions together by itself
   * @param onStored called with each view in which reports were stored
   */
  constructor(db: Queries, areTogether = true, onStored: (view: FleetKey) => void = () => {}) {
    this.#db = db;
    this.#areTogether = areTogether;
    this.#onStored = onStored;
  }

  /** Stores a report. Resolves when it is on the disk. @throws StorageError when too many wait */
  store(report: IncomingReport): Promise<void> {
    if (!this.#areTogether) return this.#storeAll([report]);
    const view = JSON.stringify([report.holder, report.target]);
    const waiting: Waiting = { report, ...Promise.withResolvers<void>() };
    const queue = this.#views.get(view);
    if (queue === undefined) {
      this.#views.set(view, [waiting]);
      void this.#work(view);
    } else if (queue.length < MAX_WAITING) queue.push(waiting);
    else waiting.reject(new StorageError("away", "too many reports of one view wait"));
    return waiting.promise;
  }

  async #work(view: string): Promise<void> {
    const queue = this.#views.get(view)!;
    while (queue.length > 0) await this.#storeTogether(queue.splice(0, countTogether(queue)));
    this.#views.delete(view);
  }

  async #storeAll(reports: readonly IncomingReport[]): Promise<void> {
    await storeReports(this.#db, reports);
    const { holder, target } = reports[0]!;
    this.#onStored({ holder, target });
  }

  /** Stores reports in one transaction. Never rejects: failures go to the waiting callers. */
  async #storeTogether(batch: Waiting[]): Promise<void> {
    try {
      await this.#storeAll(batch.map(({ report }) => report));
      for (const { resolve } of batch) resolve();
    } catch (error) {
      // One of them cannot be stored: the others can.
      if (batch.length > 1 && storageTrouble(error) === undefined)
        for (const each of batch) await this.#storeTogether([each]);
      else for (const { reject } of batch) reject(error);
    }
  }
}
