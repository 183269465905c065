import type { FastifyReply, FastifyRequest } from "fastify";
import type { AnswerOf, BodyOf, ParamsOf, QueryOf, Route, Who } from "../../contract/route.ts";
import type { Scope } from "../../contract/surfaces/keys.ts";
import { forbidden } from "../base/errors.ts";
import { isAdministrator, type Principal, requireScope } from "../base/principal.ts";
import type { Session } from "../records/access.ts";
import type { Authentication } from "./authentication.ts";
import { apiKeyOf } from "./credentials.ts";

/** Request for a route, with its parts as the route's schemas have parsed them. */
export type Asked<R extends Route> = FastifyRequest<{
  Params: ParamsOf<R>;
  Querystring: QueryOf<R>;
  Body: BodyOf<R>;
}>;

/** Route with its handler. */
export interface Served {
  route: Route;
  handle: (request: FastifyRequest, reply: FastifyReply, authentication: Authentication) => unknown;
}

/** Caller that {@link Route.who} admits. */
export type AdmittedCaller<W extends Who> = W extends { session: unknown }
  ? Session
  : W extends { keyOrSession: unknown }
    ? { principal: Principal; projectId: string | null }
    : W extends { optionalKey: true }
      ? Principal | undefined
      : W extends { everyone: true }
        ? undefined
        : Principal;

/** Route that admits a caller by its scopes alone. */
type ByScopes = Route & {
  who:
    | { key: readonly Scope[]; boundRefusal?: never }
    | { session: readonly Scope[] }
    | { keyOrSession: readonly Scope[] }
    | { optionalKey: true };
};

/**
 * Finds the subject of a request together with its caller, in one database statement or by rules of the project named.
 * Rejects a caller that has none of the scopes of {@link Route.who}.
 */
export type Find<R extends Route, Found> = (request: Asked<R>, scopes: readonly Scope[]) => Promise<Found>;

type JsonHandler<R extends Route, Found> = (
  request: Asked<R>,
  found: Found,
) => Promise<AnswerOf<R> extends null ? void : AnswerOf<R>>;

type RawHandler<R extends Route, Found> = (request: Asked<R>, reply: FastifyReply, found: Found) => unknown;

type Handler = (...given: never[]) => unknown;

/**
 * Serves a route that answers with JSON or nothing. The handler gets a caller that {@link Route.who} admits, or the
 * result of `find`.
 */
export function serve<R extends Route>(route: R, handler: JsonHandler<R, AdmittedCaller<R["who"]>>): Served;
export function serve<R extends ByScopes, Found>(
  route: R,
  find: Find<R, Found>,
  handler: JsonHandler<R, Awaited<Found>>,
): Served;
export function serve(route: Route, ...work: Handler[]): Served {
  const status = Number(Object.keys(route.ok)[0]);
  const handler = work.pop() as JsonHandler<Route, unknown>;
  return served(route, work, async (request, reply, found) =>
    reply.code(status).send((await handler(request, found)) ?? null),
  );
}

/** Serves a route that answers with bytes, a stream or one of several statuses, or that reads its own body. */
export function serveRaw<R extends Route>(route: R, handler: RawHandler<R, AdmittedCaller<R["who"]>>): Served;
export function serveRaw<R extends ByScopes, Found>(
  route: R,
  find: Find<R, Found>,
  handler: RawHandler<R, Awaited<Found>>,
): Served;
export function serveRaw(route: Route, ...work: Handler[]): Served {
  const handler = work.pop() as RawHandler<Route, unknown>;
  return served(route, work, handler);
}

function served(route: Route, [find]: Handler[], handler: RawHandler<Route, unknown>): Served {
  const { who } = route;
  return {
    route,
    async handle(request, reply, authentication) {
      const found = find
        ? await (find as Find<Route, unknown>)(request as Asked<Route>, scopesOf(who))
        : await callerOf(request, authentication, who);
      return handler(request as Asked<Route>, reply, found);
    },
  };
}

/** Returns the scopes of which a caller needs one; none where the credential alone is enough. */
function scopesOf(who: Who): readonly Scope[] {
  if ("key" in who) return who.key;
  if ("session" in who) return who.session;
  return "keyOrSession" in who ? who.keyOrSession : [];
}

/** Requires one of the scopes, if any are listed. @throws HubError 403 */
export function requireOneOf(principal: Principal, scopes: readonly Scope[]): void {
  if (scopes.length > 0) requireScope(principal, ...scopes);
}

/**
 * Returns the caller of a request. @throws HubError 401 without the live credential that the route requires, 403 for
 * one that it does not admit
 */
async function callerOf(
  request: FastifyRequest,
  authentication: Authentication,
  who: Who,
): Promise<Principal | Session | { principal: Principal } | undefined> {
  if ("everyone" in who) return undefined;
  if ("optionalKey" in who) return apiKeyOf(request) === undefined ? undefined : authentication.key(request);
  if ("session" in who || "keyOrSession" in who) {
    const caller = await ("session" in who ? authentication.session(request) : authentication.sessionOrKey(request));
    requireOneOf(caller.principal, scopesOf(who));
    return caller;
  }
  const principal = await authentication.key(request);
  if ("administrator" in who) {
    if (!isAdministrator(principal)) throw forbidden(who.refusal);
    return principal;
  }
  requireOneOf(principal, who.key);
  if (who.boundRefusal !== undefined && principal.projectId !== null) throw forbidden(who.boundRefusal);
  return principal;
}
