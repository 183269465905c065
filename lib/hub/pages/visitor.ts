import { randomBytes } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { ATTEMPT_MS } from "../access/sign-on.ts";
import { SESSION_MS, type WebSessions } from "../access/web-sessions.ts";
import { forbidden } from "../ground/errors.ts";
import type { Principal } from "../ground/principal.ts";

/** The person who looks at a page. */
export interface Visitor {
  /** The key that signed in; undefined for everybody else. */
  principal: Principal | undefined;
  /** SHA-256 of that key. */
  keyHash: string | undefined;
  /** The value of the session's cookie, or else of the one that a visitor without a session has. */
  cookie: string;
}

declare module "fastify" {
  interface FastifyRequest {
    visitor: Visitor | null;
  }
}

/** Cookies by what they are for. Over TLS no other host or path can set them. */
const nameOf = (purpose: "session" | "visit" | "attempt", isSecure: boolean): string =>
  `${isSecure ? "__Host-" : ""}sealift-${purpose}`;

const MAX_COOKIE_CHARACTERS = 2048;

function cookieOf({ headers }: FastifyRequest, name: string): string | undefined {
  for (const pair of headers.cookie?.split(";") ?? []) {
    const [key, value] = pair.trim().split("=", 2);
    if (key === name && value !== undefined && value.length <= MAX_COOKIE_CHARACTERS) return value;
  }
  return undefined;
}

/** Cookies of a hub that its visitors may reach through a proxy that ends TLS. */
export class Cookies {
  readonly #publicUrl: () => string;

  constructor(publicUrl: () => string) {
    this.#publicUrl = publicUrl;
  }

  #isSecure(request: FastifyRequest): boolean {
    return request.protocol === "https" || this.#publicUrl().startsWith("https:");
  }

  session(request: FastifyRequest): string | undefined {
    return cookieOf(request, nameOf("session", this.#isSecure(request)));
  }

  /** Returns the visitor's cookie, which each browser without a session gets. */
  visit(request: FastifyRequest, reply: FastifyReply): string {
    const isSecure = this.#isSecure(request);
    const known = cookieOf(request, nameOf("visit", isSecure));
    if (known !== undefined && /^[\w-]{22}$/.test(known)) return known;
    const value = randomBytes(16).toString("base64url");
    set(reply, nameOf("visit", isSecure), value, { isSecure });
    return value;
  }

  attempt(request: FastifyRequest): string | undefined {
    return cookieOf(request, nameOf("attempt", this.#isSecure(request)));
  }

  /** Keeps an attempt to sign in by an identity provider, whose page leads back here; an empty one ends it. */
  keepAttempt(request: FastifyRequest, reply: FastifyReply, attempt: string): void {
    const isSecure = this.#isSecure(request);
    const seconds = attempt === "" ? 0 : ATTEMPT_MS / 1000;
    set(reply, nameOf("attempt", isSecure), attempt, { isSecure, seconds, sameSite: "Lax" });
  }

  signIn(request: FastifyRequest, reply: FastifyReply, token: string): void {
    const isSecure = this.#isSecure(request);
    set(reply, nameOf("session", isSecure), token, { isSecure, seconds: SESSION_MS / 1000 });
  }

  signOut(request: FastifyRequest, reply: FastifyReply): void {
    const isSecure = this.#isSecure(request);
    set(reply, nameOf("session", isSecure), "", { isSecure, seconds: 0 });
  }
}

function set(
  reply: FastifyReply,
  name: string,
  value: string,
  { isSecure, seconds, sameSite = "Strict" }: { isSecure: boolean; seconds?: number; sameSite?: "Strict" | "Lax" },
): void {
  const parts = [`${name}=${value}`, "Path=/", "HttpOnly", `SameSite=${sameSite}`];
  if (isSecure) parts.push("Secure");
  if (seconds !== undefined) parts.push(`Max-Age=${seconds}`);
  void reply.header("set-cookie", parts.join("; "));
}

/** Whether the browser sent the form from a page of this hub. */
function isOurs({ headers }: FastifyRequest, publicUrl: string): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") return false;
  if (headers.origin === undefined) return true;
  const origin = URL.parse(headers.origin);
  return origin !== null && (origin.host === headers.host || origin.host === new URL(publicUrl).host);
}

/** @throws HubError 403 for a form that no page of ours has sent */
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
 * Returns a path of this hub to go on with: never another origin's, whatever a link says.
 *
 * @param wanted what the link says
 */
export function ownPath(wanted: unknown): string {
  const here = "http://hub.invalid";
  if (typeof wanted !== "string" || !wanted.startsWith("/") || /[\\\p{Cc}]/u.test(wanted)) return "/";
  const url = URL.parse(wanted, here);
  if (url === null || url.origin !== here || url.pathname.startsWith("//")) return "/";
  return url.pathname + url.search;
}
