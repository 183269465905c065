import type { Logger } from "../../support/logging.ts";
import type { Blobs } from "../blobs/port.ts";
import type { HubMetrics } from "../observability/hub-metrics.ts";
import { removeAudit } from "../records/audit.ts";
import { tellAgain, untoldHolds } from "../records/latest/states.ts";
import { inTransaction, type Records } from "../records/port.ts";
import { clearFleets } from "../records/project-deletion.ts";
import { removeReports } from "../records/report-history.ts";
import { removeSessions } from "../records/sessions.ts";
import { sweepBlobs, type SweepResult } from "../storage/sweep.ts";
import { type ReportLimits, reportRules } from "./retention.ts";

const INTERVAL_MS = 60 * 60 * 1000;
/**
 * Age beyond which uploads and unrecorded blobs are leftovers, in milliseconds: an upload grows, and a commit takes
 * seconds.
 */
const LEFTOVER_AGE_MS = 60 * 60 * 1000;
/** Time for which the trash keeps a blob without a record, in milliseconds. */
const TRASH_AGE_MS = 7 * 24 * 60 * 60 * 1000;
/** Interval at which a continuing hold is announced again, in milliseconds. */
const HELD_AGAIN_MS = 24 * 60 * 60 * 1000;

/** Parts of the hub that its upkeep works on. */
interface UpkeepParts extends Records {
  blobs: Blobs;
  /** Bytes of cut uploads. */
  uploads: { trim(isAlone: boolean): Promise<void> };
  metrics: HubMetrics | undefined;
  logger: Logger | undefined;
}

export interface UpkeepOptions {
  /** Whether no other process writes to this storage, so that everything without an owner is a leftover. */
  isAlone: boolean;
  reportLimits: ReportLimits;
  /** Milliseconds for which the audit log is kept; undefined for ever. */
  keepAuditMs: number | undefined;
  /** Jobs of features, by name. */
  chores: Readonly<Record<string, () => Promise<void>>>;
}

/** Background work of the hub, done now and every hour until it is disposed. */
export class Upkeep implements AsyncDisposable {
  readonly #hub: UpkeepParts;
  readonly #options: UpkeepOptions;
  readonly #timer: NodeJS.Timeout;
  #running: Promise<unknown> = Promise.resolve();
  #isClosing = false;
  #last: SweepResult | undefined;
  #lastAt: number | undefined;

  constructor(hub: UpkeepParts, options: UpkeepOptions) {
    this.#hub = hub;
    this.#options = options;
    this.#timer = setInterval(() => void this.run(), INTERVAL_MS).unref();
  }

  /** Last comparison of blobs and records; undefined before the first one. */
  get lastSweep(): SweepResult | undefined {
    return this.#last;
  }

  /** Time when it ended, in milliseconds since 1970. */
  get lastSweepAt(): number | undefined {
    return this.#lastAt;
  }

  /** Runs all chores, after any that are running. Failures are logged, and retried in an hour. */
  run(): Promise<void> {
    const next = this.#running.then(async () => {
      await this.#attempt("what crashes left", () => this.#clearIncoming());
      await this.#attempt("blobs without a record", () => this.#sweep());
      await this.#attempt("fleets of deleted projects", () => this.#clearFleets());
      await this.#attempt("sessions that have ended", () => this.#removeSessions());
      await this.#attempt("old deployment reports", () => this.#removeReports());
      await this.#attempt("old entries of the audit log", () => this.#removeAudit());
      await this.#attempt("versions that are still held", () => this.#tellOfHolds());
      for (const [what, work] of Object.entries(this.#options.chores)) await this.#attempt(what, work);
    });
    this.#running = next;
    return next;
  }

  /** Starts nothing more. From here on, running chores may fail silently. */
  stop(): void {
    this.#isClosing = true;
    clearInterval(this.#timer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    await this.#running;
  }

  async #attempt(what: string, work: () => Promise<void>): Promise<void> {
    if (this.#isClosing) return;
    try {
      await work();
    } catch (error) {
      // The storage aborts what still waits for it.
      if (this.#isClosing) return;
      this.#hub.metrics?.upkeepFailed(what);
      this.#hub.logger?.error({ err: error }, `could not look for ${what}`);
    }
  }

  async #clearIncoming(): Promise<void> {
    const { blobs, uploads, logger } = this.#hub;
    const { isAlone } = this.#options;
    await uploads.trim(isAlone);
    const removed = await blobs.clearIncoming(isAlone ? 0 : LEFTOVER_AGE_MS);
    if (removed > 0) logger?.warn({ removed }, "removed uploads that were never finished");
  }

  async #sweep(): Promise<void> {
    const { logger, metrics } = this.#hub;
    // The clock of the storage, which is closer to this machine's than to the database's.
    const result = await sweepBlobs(this.#hub, {
      minAgeMs: LEFTOVER_AGE_MS,
      trashAgeMs: TRASH_AGE_MS,
      now: Date.now(),
    });
    this.#last = result;
    this.#lastAt = Date.now();
    const { known, trashed, takenBack, removed, unexplained, lost } = result;
    metrics?.swept("trash", trashed);
    metrics?.swept("place", takenBack);
    metrics?.swept("nowhere", removed);
    if (trashed > 0) logger?.warn({ known, trashed }, "moved blobs without a record to the trash");
    if (takenBack > 0) logger?.warn({ known, taken_back: takenBack }, "took blobs that have a record out of the trash");
    if (removed > 0) logger?.warn({ known, removed }, "removed blobs that were in the trash for its days");
    if (unexplained > 0) {
      logger?.error({ known, unexplained }, "left blobs without a record in place: too many to be what crashes left");
    }
    if (lost.length > 0) logger?.error({ lost }, "the bytes of published versions are gone");
  }

  async #clearFleets(): Promise<void> {
    const { database, now, logger } = this.#hub;
    const cleared = await clearFleets(database.kysely, now);
    if (cleared > 0) logger?.info({ cleared }, "removed the fleets of deleted projects");
  }

  async #removeSessions(): Promise<void> {
    const { database, now, logger } = this.#hub;
    const removed = await removeSessions(database.kysely, now());
    if (removed > 0) logger?.debug({ removed }, "removed sessions that have ended");
  }

  async #removeAudit(): Promise<void> {
    const { database, clock, logger } = this.#hub;
    const { keepAuditMs } = this.#options;
    if (keepAuditMs === undefined) return;
    const removed = await removeAudit(database.kysely, new Date(clock() - keepAuditMs).toISOString());
    if (removed > 0) logger?.info({ removed }, "removed old entries of the audit log");
  }

  async #tellOfHolds(): Promise<void> {
    const { database, clock } = this.#hub;
    const before = new Date(clock() - HELD_AGAIN_MS).toISOString();
    for (const row of await untoldHolds(database.kysely, before))
      await inTransaction(database.kysely, (transaction) => tellAgain(transaction, row, clock()));
  }

  async #removeReports(): Promise<void> {
    const { database, clock, logger } = this.#hub;
    const removed = await removeReports(database.kysely, reportRules(this.#options.reportLimits, clock()));
    if (removed.reports > 0) logger?.info(removed, "removed old deployment reports");
  }
}
