import { randomUUID } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { HubError } from "../../hub/base/errors.ts";
import { SignInFailed } from "./errors.ts";
import type { Refused } from "./refused.ts";

/** Names the refused form in a request of this process to itself. */
const HEADER = "x-sealift-refused-form";

/** Page of a form that was refused, with the status of the refusal. */
export class RefusedPage {
  readonly html: string;
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(html: string, { statusCode, headers }: HubError) {
    this.html = html;
    this.statusCode = statusCode;
    this.headers = headers;
  }
}

/** Shows the pages of refused forms again, with what was entered. */
export class Refusals {
  readonly #app: FastifyInstance;
  readonly #refused = new Map<string, Refused>();

  constructor(app: FastifyInstance) {
    this.#app = app;
  }

  /** Returns the refused form that the page of a request shows. */
  of({ headers }: FastifyRequest): Refused | undefined {
    const name = headers[HEADER];
    return typeof name === "string" ? this.#refused.get(name) : undefined;
  }

  /**
   * Makes the page of a form whose request was refused: the nearest one at or above the address of the form that has
   * it, for the same visitor. The request has carried the token of its form.
   *
   * @returns undefined where no page has the form
   */
  async pageOf(request: FastifyRequest, error: HubError): Promise<RefusedPage | undefined> {
    const { method, url, body, visitor, ip } = request;
    if (method !== "POST" || visitor?.principal === undefined || error instanceof SignInFailed) return undefined;
    const action = url.split("?", 1)[0]!;
    const refused: Refused = { action, fields: body as URLSearchParams, message: error.message, isShown: false };
    const name = randomUUID();
    this.#refused.set(name, refused);
    try {
      for (let path = action; path !== ""; path = path.slice(0, path.lastIndexOf("/"))) {
        const { cookie = "" } = request.headers;
        const headers = { [HEADER]: name, cookie };
        const page = await this.#app.inject({ method: "GET", url: path, remoteAddress: ip, headers });
        if (page.statusCode === 200 && refused.isShown) return new RefusedPage(page.body, error);
      }
      return undefined;
    } finally {
      this.#refused.delete(name);
    }
  }
}
