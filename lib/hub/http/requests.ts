import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { FastifyInstance } from "fastify";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import { nameRequest, traceIdOf } from "../../support/work.ts";
import { type ErrorListeners, pathOf, refusalOf } from "./error-answers.ts";
import { RefusalLog } from "./refusal-log.ts";

const ID_HEADER = HEADERS.requestId.toLowerCase();

declare module "fastify" {
  interface FastifyContextConfig {
    /** True for an answer that lasts as long as its client wants: its duration says nothing about the hub. */
    isEndless?: boolean;
  }
}

/** Returns the id of a request for answers and log. An incoming one is kept if it is safe to log. */
export function requestId({ headers }: IncomingMessage): string {
  const given = headers[ID_HEADER];
  return typeof given === "string" && /^[A-Za-z0-9._:-]{1,128}$/.test(given) ? given : randomUUID();
}

/** Sets the headers that all answers have. */
export function markAnswers(app: FastifyInstance): void {
  app.addHook("onRequest", (request, reply, done) => {
    void reply.headers({
      [ID_HEADER]: request.id,
      "x-content-type-options": "nosniff",
      // Most answers are secret or change at any moment; the others override this.
      "cache-control": "no-store",
    });
    done();
  });
}

/** Returns the log level of a request. Successful polls are `debug`: each host of a fleet polls every minute. */
const levelOf = (method: string, status: number): "debug" | "info" | "error" =>
  method === "GET" && status < 400 ? "debug" : status < 500 ? "info" : "error";

/** Writes one line for each request, or for many that are refused alike, and counts it. */
export function tellRequests(app: FastifyInstance, { logger, metrics }: ErrorListeners): void {
  const refused = logger && new RefusalLog(logger);
  app.addHook("onClose", (_app, done) => {
    refused?.[Symbol.dispose]();
    done();
  });
  app.addHook("onResponse", (request, reply, done) => {
    const { id, method, url, ip, raw, routeOptions } = request;
    const { statusCode: status, elapsedTime: durationMs } = reply;
    const route = routeOptions.url ?? "none";
    nameRequest(raw, route, id);
    const level = levelOf(method, status);
    // Checked for each request: a reload may have changed the level.
    if (logger?.isLevelEnabled(level)) {
      const facts = { requestId: id, traceId: traceIdOf(raw), method, path: pathOf(url), status, address: ip };
      const duration_ms = Math.round(durationMs * 10) / 10;
      const refusal = refusalOf(request);
      if (refusal === undefined) logger[level]({ ...facts, duration_ms }, "request");
      else refused!.tell({ ...facts, ...refusal, duration_ms });
    }
    const length = Number(reply.getHeader("content-length"));
    const isWhole = reply.raw.writableFinished && method !== "HEAD" && Number.isFinite(length);
    const measuredMs = routeOptions.config.isEndless && status < 400 ? undefined : durationMs;
    metrics?.answered({ method, route, status, durationMs: measuredMs, sentBytes: isWhole ? length : undefined });
    done();
  });
}
