import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import type { Database } from "../records/port.ts";
import { HubError } from "./errors.ts";

/**
 * Beyond this wait for a database connection the hub takes on no new work: requests would wait, give up, and come
 * again, and each would have cost what it had done so far.
 */
const PATIENCE_MS = 1000;
/** Patience with what was begun, which is let in for longer: a deployment that ends early is one that begins again. */
export const PATIENCE_OF_BEGUN_MS = 3000;
const RETRY_AFTER_SECONDS = 5;

declare module "fastify" {
  interface FastifyContextConfig {
    /** Milliseconds for which others may have waited for the database while this route still takes requests. */
    patienceMs?: number;
  }
}

/** Tells whether requests wait for the database for too long to begin something. */
export const isOverloaded = (database: Database, patienceMs = PATIENCE_MS): boolean =>
  (database.waitedMs?.() ?? 0) > patienceMs;

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

/**
 * Refuses requests at the door, before any work, while those inside wait for the database for too long, and says
 * whether the database has too much to do or does not answer.
 */
export function shedLoad(app: FastifyInstance, database: Database): void {
  const pulse = new Pulse(database);
  app.addHook("onRequest", (request, _reply, done) => {
    if (!isOverloaded(database, request.routeOptions.config.patienceMs)) return done();
    void pulse
      .isThere()
      .then((isThere) => done(refusal(isThere ? "The hub is overloaded" : "The hub's database does not answer")));
  });
}
