import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import { HubError } from "../base/errors.ts";
import type { Database } from "../records/port.ts";

/**
 * Wait for a database connection, in milliseconds, beyond which the hub accepts no new work, which would only time out
 * and return.
 */
const PATIENCE_MS = 1000;
/** The same limit for work already begun, in milliseconds: a deployment that fails halfway starts over. */
export const PATIENCE_OF_BEGUN_MS = 3000;
const RETRY_AFTER_SECONDS = 5;
/**
 * Mean delay of the event loop, in milliseconds, beyond which the hub sheds load. A window without a sample counts as
 * an endless delay.
 */
const MAX_LOOP_DELAY_MS = 1000;
const LOOP_DELAY_WINDOW_MS = 5000;
const LOOP_DELAY_RESOLUTION_MS = 10;

declare module "fastify" {
  interface FastifyContextConfig {
    /** Longest wait for the database, in milliseconds, with which this route still accepts requests. */
    patienceMs?: number;
  }
}

/** Tells whether requests wait too long for the database to begin new work. */
const isOverloaded = (database: Database, patienceMs = PATIENCE_MS): boolean =>
  (database.waitedMs?.() ?? 0) > patienceMs;

/**
 * Watches the event loop until the app closes. The usual plugin also reads memory usage in its timer, which throws when
 * the process has no descriptor left.
 *
 * @returns a function that tells whether the event loop was late on average
 */
function watchEventLoop(app: FastifyInstance): () => boolean {
  const delays = monitorEventLoopDelay({ resolution: LOOP_DELAY_RESOLUTION_MS });
  delays.enable();
  let isLate = false;
  let wasLate = false;
  const timer = setInterval(() => {
    wasLate = isLate;
    isLate = !(delays.mean / 1e6 - LOOP_DELAY_RESOLUTION_MS <= MAX_LOOP_DELAY_MS);
    delays.reset();
  }, LOOP_DELAY_WINDOW_MS).unref();
  app.addHook("onClose", (_app, done) => {
    clearInterval(timer);
    delays.disable();
    done();
  });
  // One late window may be the start of the hub, or another process on the machine.
  return () => isLate && wasLate;
}

/** Age up to which the last check of the database decides about refusals, in milliseconds. */
const FRESH_MS = 500;
/** Silence after which the database counts as unreachable, in milliseconds. */
const SILENCE_MS = 1000;

/** Checks whether the database answers at all, on the readiness connection, for which no request waits. */
class Pulse {
  readonly #database: Database;
  #asked: { at: number; answers: Promise<boolean> } | undefined;
  #last: { at: number; answers: boolean } | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Checks the database. Never rejects, and takes {@link SILENCE_MS} at most. */
  async isThere(): Promise<boolean> {
    const now = performance.now();
    if (this.#asked === undefined) {
      if (this.#last !== undefined && now - this.#last.at < FRESH_MS) return this.#last.answers;
      this.#asked = { at: now, answers: this.#ask() };
    }
    const { at, answers } = this.#asked;
    const left = at + SILENCE_MS - now;
    return left > 0 && Promise.race([answers, sleep(left, false, { ref: false })]);
  }

  async #ask(): Promise<boolean> {
    const answers = await this.#database.checkRead().then(
      () => true,
      () => false,
    );
    this.#last = { at: performance.now(), answers };
    this.#asked = undefined;
    return answers;
  }
}

const refusal = (why: string): HubError =>
  new HubError(503, "hub_unavailable", `${why}; try again later.`, {
    headers: { "retry-after": String(RETRY_AFTER_SECONDS) },
  });

/** Rejects requests before any work while the event loop is late or waits for the database are too long. */
export function shedLoad(app: FastifyInstance, database: Database): void {
  const pulse = new Pulse(database);
  const isLate = watchEventLoop(app);
  app.addHook("onRequest", (request, _reply, done) => {
    const { patienceMs } = request.routeOptions.config;
    if (isLate() && patienceMs !== Infinity) return done(refusal("The hub is overloaded"));
    if (!isOverloaded(database, patienceMs)) return done();
    void pulse
      .isThere()
      .then((isThere) => done(refusal(isThere ? "The hub is overloaded" : "The hub's database does not answer")));
  });
}
