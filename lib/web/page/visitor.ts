import { randomBytes } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { ATTEMPT_MS } from "../../hub/access/sign-in-way.ts";
import { SESSION_MS, type WebSessions } from "../../hub/access/web-sessions.ts";
import { forbidden } from "../../hub/base/errors.ts";
import type { Principal } from "../../hub/base/principal.ts";

/** Person who reads a page. */
export interface Visitor {
  /** Key that signed in; undefined without one. */
  principal: Principal | undefined;
  /** SHA-256 of that key. */
  keyHash: string | undefined;
  /** Value of the session's cookie, or else of the cookie of visitors without a session. */
  cookie: string;
}

declare module "fastify" {
  interface FastifyRequest {
    visitor: Visitor | null;
  }
}

type Purpose = "session" | "visit" | "attempt";

const MAX_COOKIE_CHARACTERS = 2048;

/** Cookies of a hub, which may be behind a proxy that ends TLS. */
export class Cookies {
  readonly #publicUrl: () => string;

  constructor(publicUrl: () => string) {
    this.#publicUrl = publicUrl;
  }

  /** Names a cookie. Over TLS no other host or path can set it. */
  #nameOf(request: FastifyRequest, purpose: Purpose): string {
    return `${this.#isSecure(request) ? "__Host-" : ""}sealift-${purpose}`;
  }

  #isSecure(request: FastifyRequest): boolean {
    return request.protocol === "https" || this.#publicUrl().startsWith("https:");
  }

  #read(request: FastifyRequest, purpose: Purpose): string | undefined {
    const name = this.#nameOf(request, purpose);
    for (const pair of request.headers.cookie?.split(";") ?? []) {
      const [key, value] = pair.trim().split("=", 2);
      if (key === name && value !== undefined && value.length <= MAX_COOKIE_CHARACTERS) return value;
    }
    return undefined;
  }

  /** @param seconds for which the browser keeps it; by default until the browser is closed */
  #write(request: FastifyRequest, reply: FastifyReply, purpose: Purpose, value: string, seconds?: number): void {
    // The page of an identity provider leads back here with the attempt that began it.
    const sameSite = purpose === "attempt" ? "Lax" : "Strict";
    const parts = [`${this.#nameOf(request, purpose)}=${value}`, "Path=/", "HttpOnly", `SameSite=${sameSite}`];
    if (this.#isSecure(request)) parts.push("Secure");
    if (seconds !== undefined) parts.push(`Max-Age=${seconds}`);
    void reply.header("set-cookie", parts.join("; "));
  }

  session(request: FastifyRequest): string | undefined {
    return this.#read(request, "session");
  }

  attempt(request: FastifyRequest): string | undefined {
    return this.#read(request, "attempt");
  }

  /** Returns the visitor's cookie, which each browser without a session gets. */
  visit(request: FastifyRequest, reply: FastifyReply): string {
    const known = this.#read(request, "visit");
    if (known !== undefined && /^[\w-]{22}$/.test(known)) return known;
    const value = randomBytes(16).toString("base64url");
    this.#write(request, reply, "visit", value);
    return value;
  }

  /** Stores an attempt to sign in by an identity provider; an empty one removes it. */
  keepAttempt(request: FastifyRequest, reply: FastifyReply, attempt: string): void {
    this.#write(request, reply, "attempt", attempt, attempt === "" ? 0 : ATTEMPT_MS / 1000);
  }

  /** Stores the token of a session; an empty one signs out. */
  keepSession(request: FastifyRequest, reply: FastifyReply, token: string): void {
    this.#write(request, reply, "session", token, token === "" ? 0 : SESSION_MS / 1000);
  }
}

/** Whether the browser sent the form from a page of this hub. */
function isOurs({ headers }: FastifyRequest, publicUrl: string): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") return false;
  if (headers.origin === undefined) return true;
  const origin = URL.parse(headers.origin);
  return origin !== null && (origin.host === headers.host || origin.host === new URL(publicUrl).host);
}

/** Requires a form that a page of this hub has sent. @throws HubError 403 */
export function requireOwnForm(
  request: FastifyRequest,
  token: unknown,
  { sessions, publicUrl }: { sessions: WebSessions; publicUrl: string },
): void {
  const { cookie } = request.visitor!;
  if (isOurs(request, publicUrl) && typeof token === "string" && sessions.isFormToken(token, cookie)) return;
  throw forbidden("This form is too old or comes from elsewhere. Open the page again, and send it from there.");
}

/**
 * Returns a path of this hub to continue with: never another origin's, whatever a link says.
 *
 * @param wanted from the link
 */
export function ownPath(wanted: unknown): string {
  const here = "http://hub.invalid";
  if (typeof wanted !== "string" || !wanted.startsWith("/") || /[\\\p{Cc}]/u.test(wanted)) return "/";
  const url = URL.parse(wanted, here);
  if (url === null || url.origin !== here || url.pathname.startsWith("//")) return "/";
  return url.pathname + url.search;
}
