import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../support/logging.ts";
import { StorageError, type StorageTrouble, storageTrouble } from "../base/storage-error.ts";
import type { Blobs } from "../blobs/port.ts";
import type { Database } from "../records/port.ts";

/** Time limit of a check, in milliseconds, so that no part keeps a load balancer waiting. */
const CHECK_TIMEOUT_MS = 2000;
/** Age up to which a result is reused, in milliseconds: several balancers cost one check. */
const FRESH_MS = 500;

export type StoragePart = "database_read" | "database_write" | "blobs";

/** State of one part of the hub's storage. */
export interface PartHealth {
  ok: boolean;
  duration_ms: number;
  /** Reason why it cannot be used; details of `failed` are in the log only. */
  trouble?: StorageTrouble | "failed";
}

/** Readiness of the hub, which serves as long as it can read its database. */
export interface Readiness {
  ready: boolean;
  status: "ok" | "degraded" | "unavailable";
  parts: Record<StoragePart, PartHealth>;
}

interface CheckContext {
  database: Database;
  blobs: Blobs;
  now: () => string;
  logger: Logger | undefined;
}

/** Checks whether the storage can be used now, each part separately. Concurrent callers share a check. */
export class ReadinessCheck {
  readonly #context: CheckContext;
  #running: Promise<Readiness> | undefined;
  #last: { at: number; readiness: Readiness } | undefined;

  constructor(context: CheckContext) {
    this.#context = context;
  }

  /** Checks the storage. Never rejects, and takes {@link CHECK_TIMEOUT_MS} at most. */
  now(): Promise<Readiness> {
    if (this.#last !== undefined && performance.now() - this.#last.at < FRESH_MS) {
      return Promise.resolve(this.#last.readiness);
    }
    this.#running ??= this.#check().finally(() => (this.#running = undefined));
    return this.#running;
  }

  async #check(): Promise<Readiness> {
    const { database, blobs, now } = this.#context;
    const [read, write, bytes] = await Promise.all([
      this.#measure("database_read", () => database.checkRead()),
      this.#measure("database_write", () => database.checkWrite(now())),
      this.#measure("blobs", (signal) => blobs.check(signal)),
    ]);
    const ok = read.ok && write.ok && bytes.ok;
    const readiness: Readiness = {
      ready: read.ok,
      status: ok ? "ok" : read.ok ? "degraded" : "unavailable",
      parts: { database_read: read, database_write: write, blobs: bytes },
    };
    this.#last = { at: performance.now(), readiness };
    return readiness;
  }

  async #measure(part: StoragePart, work: (signal: AbortSignal) => Promise<void>): Promise<PartHealth> {
    const started = performance.now();
    const over = new AbortController();
    const overdue = async (): Promise<never> => {
      await sleep(CHECK_TIMEOUT_MS, undefined, { signal: over.signal, ref: false });
      throw new StorageError("away", `no answer within ${CHECK_TIMEOUT_MS} ms`);
    };
    const health = (): PartHealth => ({ ok: true, duration_ms: Math.round(performance.now() - started) });
    const checking = work(AbortSignal.timeout(CHECK_TIMEOUT_MS));
    // It may still fail after its time is over.
    checking.catch(() => {});
    try {
      await Promise.race([checking, overdue()]);
      return health();
    } catch (error) {
      this.#context.logger?.warn({ err: error, part }, "a part of the storage cannot be used");
      return { ...health(), ok: false, trouble: storageTrouble(error) ?? "failed" };
    } finally {
      over.abort();
    }
  }
}
