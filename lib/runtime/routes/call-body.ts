import type { FastifyInstance } from "fastify";
import { RuntimeFault } from "../guest/fault.ts";
import { mayPollute } from "../guest/json.ts";

/** The body of a call: `{"payload": …}` (docs/contract/runtime.md). */

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Reads a body as JSON whatever its content type says, and an empty one as absent: 415 is no status of surface C. */
export function readCallBodies(app: FastifyInstance): void {
  // Fastify refuses a type that it cannot parse before it looks for a parser.
  app.addHook("onRequest", ({ raw }, _reply, done) => {
    raw.headers["content-type"] = "application/json";
    done();
  });
  app.removeAllContentTypeParsers();
  const parseWithCare = app.getDefaultJsonParser("error", "remove");
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    const text = body as string;
    if (text === "") return done(null, undefined);
    if (mayPollute(text)) return void parseWithCare(request, text, done);
    try {
      done(null, JSON.parse(text));
    } catch (error) {
      done(error as Error, undefined);
    }
  });
}

/** Returns the payload; an absent body or payload is an empty object. @throws RuntimeFault `bad_request` */
export function payloadOf(body: unknown): unknown {
  if (body === undefined || body === null) return {};
  if (!isObject(body)) throw new RuntimeFault("bad_request", 'The body must be an object: {"payload": {…}}.');
  return body["payload"] ?? {};
}
