import { randomBytes, timingSafeEqual } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import type { Person } from "./sign-in-way.ts";

/** Header of requests that the pages make to the API for a signed-in key. It never leaves the process. */
const HEADER = "x-sealift-web";
const API_KEY = HEADERS.apiKey.toLowerCase();
/** Placeholder for a key of which only the hash is known. */
const NO_KEY = "signed-in";

declare module "fastify" {
  interface FastifyRequest {
    /** Whether the request comes from a page. */
    isWeb: boolean;
    /** Person whom the identity provider has authenticated; null for all other callers. */
    person: Person | null;
  }
}

/** Lets pages call the API in this process by the hash of a key; the key itself is never kept. */
export class WebCalls {
  /** Secret of this process, so that no request from the network can pass as one of a page. */
  readonly #secret = randomBytes(32).toString("hex");

  /** Recognizes requests from pages, before the rate limits count them. */
  attach(app: FastifyInstance): void {
    const expected = Buffer.from(this.#secret);
    app.decorateRequest("isWeb", false);
    app.decorateRequest("person", null);
    app.addHook("onRequest", (request, _reply, done) => {
      const mark = request.headers[HEADER];
      if (typeof mark === "string") {
        const [secret = "", hash = "", person = ""] = mark.split(".");
        const given = Buffer.from(secret);
        if (given.length === expected.length && timingSafeEqual(given, expected))
          actAs(request, hash, JSON.parse(Buffer.from(person, "base64url").toString()) as Person | null);
        delete request.headers[HEADER];
      }
      done();
    });
  }

  /** Returns the headers of a call. @param hash of the key */
  headers(hash: string, person: Person | null): Record<string, string> {
    const mark = `${this.#secret}.${hash}.${Buffer.from(JSON.stringify(person)).toString("base64url")}`;
    return { [HEADER]: mark, [API_KEY]: NO_KEY };
  }
}

/** Replaces the credential of a request by that of a signed-in key, or by none. */
export function actAs(request: FastifyRequest, hash: string | undefined, person: Person | null): void {
  delete request.headers.authorization;
  request.isWeb = true;
  request.person = person;
  request.credentialHash = hash ?? null;
  if (hash === undefined) delete request.headers[API_KEY];
  else request.headers[API_KEY] = NO_KEY;
}
