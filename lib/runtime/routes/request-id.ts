import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";

const START = randomBytes(6).toString("base64url");
let last = 0;

/** A caller's own X-Request-Id when it is a plain word, else one of ours: unique, and cheap to make. */
export function nextRequestId(request: Pick<IncomingMessage, "headers">): string {
  const given = request.headers["x-request-id"];
  if (typeof given === "string" && /^[A-Za-z0-9._:-]{1,128}$/.test(given)) return given;
  return `${START}-${(++last).toString(36)}`;
}
