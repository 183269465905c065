import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import * as z from "zod";
import type { AnswerOf, BodyOf, ParamsOf, QueryOf, Route } from "../../contract/route.ts";
import { forbidden } from "../ground/errors.ts";
import { isAdministrator, type Principal, requireScope } from "../ground/principal.ts";
import { errors, security } from "../http/documentation.ts";
import type { Authentication } from "./authentication.ts";

/** A request for a route, with what its schemas have made of it. */
export type Asked<R extends Route> = FastifyRequest<{
  Params: ParamsOf<R>;
  Querystring: QueryOf<R>;
  Body: BodyOf<R>;
}>;

/** A route with its handler. */
export interface Served {
  route: Route;
  handle: (request: FastifyRequest, reply: FastifyReply, principal: Principal) => unknown;
}

/** Serves a route whose answer is JSON, or nothing. The handler gets a caller that {@link Route.who} admits. */
export function serve<R extends Route>(
  route: R,
  handler: (request: Asked<R>, principal: Principal) => Promise<AnswerOf<R> extends null ? void : AnswerOf<R>>,
): Served {
  const status = Number(Object.keys(route.ok)[0]);
  return {
    route,
    handle: async (request, reply, principal) =>
      reply.code(status).send((await handler(request as Asked<R>, principal)) ?? null),
  };
}

/**
 * Adds routes to a scope that has the prefix of their mount. In this order, a request is refused with 401 without a
 * key, with 400 or 422 for its fields, with 401 for its key, and with 403 for the rights of that.
 */
export function addRoutes(app: FastifyInstance, served: readonly Served[], authentication: Authentication): void {
  for (const { route, handle } of served) {
    const { method, path, query, body, summary, description, tags } = route;
    const params = paramsOf(route);
    app.route({
      method,
      url: path,
      schema: {
        summary,
        tags: [...tags],
        security: security.key,
        ...(description !== undefined && { description }),
        ...(params && { params }),
        ...(query && { querystring: query }),
        ...(body && { body }),
        response: { ...route.ok, ...errors(...(route.errors ?? [])) },
      },
      async handler(request, reply) {
        try {
          return await handle(request, reply, await admitted(authentication, request, route));
        } catch (error) {
          throw withoutSecrets(error, request.body, route.secret);
        }
      },
    });
  }
}

/** Returns the schema of a path's parameters; undefined for a path without any. */
function paramsOf({ params, path }: Route): z.ZodObject | undefined {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!);
  if (params !== undefined || names.length === 0) return params;
  return z.object(Object.fromEntries(names.map((name) => [name, z.string()])));
}

/** @throws HubError 401 without a live key, 403 for one that the route does not admit */
async function admitted(authentication: Authentication, request: FastifyRequest, { who }: Route): Promise<Principal> {
  const principal = await authentication.key(request);
  if ("administrator" in who) {
    if (!isAdministrator(principal)) throw forbidden(who.refusal);
    return principal;
  }
  if (who.key.length > 0) requireScope(principal, ...who.key);
  if (who.boundRefusal !== undefined && principal.projectId !== null) throw forbidden(who.boundRefusal);
  return principal;
}

/** Takes the values of secret fields out of an error, which the client and the log are told. */
function withoutSecrets(error: unknown, body: unknown, secret: readonly string[] = []): unknown {
  if (!(error instanceof Error) || typeof body !== "object" || body === null) return error;
  for (const name of secret) {
    const value = (body as Record<string, unknown>)[name];
    if (typeof value !== "string" || value === "") continue;
    error.message = error.message.replaceAll(value, "[redacted]");
    if (error.stack !== undefined) error.stack = error.stack.replaceAll(value, "[redacted]");
  }
  return error;
}
