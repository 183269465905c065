import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { HEADERS } from "../../contract/surfaces/headers.ts";

const HEADER = HEADERS.requestId.toLowerCase();

/** The id of a request in answers and log. An incoming one is kept when it cannot hurt a log. */
export function requestId(request: IncomingMessage): string {
  const given = request.headers[HEADER];
  return typeof given === "string" && /^[A-Za-z0-9._:-]{1,128}$/.test(given) ? given : randomUUID();
}
