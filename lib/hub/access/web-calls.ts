import { randomBytes, timingSafeEqual } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import type { Person } from "./sign-in-way.ts";

/** Marks a request that the pages make of the API in the name of a signed-in key. It never leaves the process. */
const HEADER = "x-sealift-web";
const API_KEY = HEADERS.apiKey.toLowerCase();
/** Stands for a key of which only the hash is known. */
const NO_KEY = "signed-in";

declare module "fastify" {
  interface FastifyRequest {
    /** Whether a person at a page asks. */
    isWeb: boolean;
    /** The one whom the identity provider has named; null for everybody else. */
    person: Person | null;
  }
}

/** Lets the pages call the API in this process with the hash of a key: the key itself is not kept anywhere. */
export class WebCalls {
  /** Secret of this process: nobody on the network can send it. */
  readonly #secret = randomBytes(32).toString("hex");

  /** Recognizes the calls, before their rate is counted. */
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

/** Gives a request the credential of a signed-in key, or none, in place of what it carries. */
export function actAs(request: FastifyRequest, hash: string | undefined, person: Person | null): void {
  delete request.headers.authorization;
  request.isWeb = true;
  request.person = person;
  request.credentialHash = hash ?? null;
  if (hash === undefined) delete request.headers[API_KEY];
  else request.headers[API_KEY] = NO_KEY;
}
