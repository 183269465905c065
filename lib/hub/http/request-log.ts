import type { Logger } from "../../support/logging.ts";

/** A request that has been answered, as the log tells it. */
export interface Answered {
  requestId: string;
  method: string;
  /** Without the query, which can carry signatures. */
  path: string;
  status: number;
  traceId: string | undefined;
  durationMs: number;
  address: string;
  /** Why the hub refused it on purpose, with a status of 5xx. */
  refusal?: string | undefined;
}

/** The level of a request's line. Polls that went well are `debug`: a fleet asks every minute. */
export const levelOf = (method: string, status: number): "debug" | "info" | "error" =>
  method === "GET" && status < 400 ? "debug" : status < 500 ? "info" : "error";

/** Writes the line of a request. */
export function logAnswered(logger: Logger, { durationMs, ...facts }: Answered): void {
  const duration_ms = Math.round(durationMs * 10) / 10;
  logger[levelOf(facts.method, facts.status)]({ ...facts, duration_ms }, "request");
}
