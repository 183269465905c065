import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import { HubError } from "../base/errors.ts";
import type { Database } from "../records/port.ts";

/** Beyond this wait for a database connection the hub takes on no new work, which would give up and come again. */
const PATIENCE_MS = 1000;
/** Patience with what was begun, which is let in for longer: a deployment that ends early is one that begins again. */
export const PATIENCE_OF_BEGUN_MS = 3000;
const RETRY_AFTER_SECONDS = 5;
/** Beyond this mean delay of the event loop the hub sheds load. A window without a sample counts as endless delay. */
const MAX_LOOP_DELAY_MS = 1000;
const LOOP_DELAY_WINDOW_MS = 5000;
const LOOP_DELAY_RESOLUTION_MS = 10;

declare module "fastify" {
  interface FastifyContextConfig {
    /** Milliseconds for which others may have waited for the database while this route still takes requests. */
    patienceMs?: number;
  }
}

/** Tells whether requests wait for the database for too long to begin something. */
const isOverloaded = (database: Database, patienceMs = PATIENCE_MS): boolean =>
  (database.waitedMs?.() ?? 0) > patienceMs;

/**
 * Watches the event loop until the app closes. Our own, since the usual plugin also asks for the memory in its timer,
 * which throws when the process has no descriptor left.
 *
 * @returns a function that tells whether the event loop was late on the whole
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
  // One late window may be the start, or a neighbour of the machine.
  return () => isLate && wasLate;
}

/** Requests that are refused need no fresher knowledge of the database than this. */
const FRESH_MS = 500;
/** A database that is silent for longer does not answer. */
const SILENCE_MS = 1000;

/** Asks the database, on the connection of readiness that no request waits for, whether it answers at all. */
class Pulse {
  readonly #database: Database;
  #asked: { at: number; answers: Promise<boolean> } | undefined;
  #last: { at: number; answers: boolean } | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Never rejects, and takes {@link SILENCE_MS} at most. */
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

/** Refuses requests before any work while the event loop is late or the database keeps others waiting for too long. */
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
