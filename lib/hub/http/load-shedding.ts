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

/** Refuses requests at the door, before any work, while the database is too slow for those that are inside. */
export function shedLoad(app: FastifyInstance, database: Database): void {
  app.addHook("onRequest", (request, _reply, done) => {
    if (!isOverloaded(database, request.routeOptions.config.patienceMs)) return done();
    done(
      new HubError(503, "hub_unavailable", "The hub is overloaded; try again later.", {
        headers: { "retry-after": String(RETRY_AFTER_SECONDS) },
      }),
    );
  });
}
