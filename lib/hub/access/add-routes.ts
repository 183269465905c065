import multipart from "@fastify/multipart";
import type { FastifyContextConfig, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import * as z from "zod";
import { errorsOf, type Route, type Who } from "../../contract/route.ts";
import { MOUNTS } from "../../contract/surfaces/paths.ts";
import { HubError } from "../base/errors.ts";
import { errors, security } from "../http/documentation.ts";
import { PATIENCE_OF_BEGUN_MS } from "../http/load-shedding.ts";
import { unvalidated } from "../http/validation.ts";
import type { Authentication } from "./authentication.ts";
import { apiKeyOf } from "./credentials.ts";
import type { Served } from "./serve.ts";

const CONFIG: Record<NonNullable<Route["load"]>, FastifyContextConfig> = {
  begun: { patienceMs: PATIENCE_OF_BEGUN_MS },
  always: { rateLimit: false, patienceMs: Infinity },
  endless: { isEndless: true },
};

const credentialsOf = (who: Who) =>
  "everyone" in who
    ? undefined
    : "optionalKey" in who
      ? security.optionalKey
      : "session" in who
        ? security.session
        : "keyOrSession" in who
          ? security.keyOrSession
          : security.key;

/**
 * Adds routes below the prefixes of their mounts. Checks a request in this order: 401 for a missing or invalid
 * credential, 400, 413, 415 or 422 for its body and fields, 403 for insufficient rights.
 *
 * @param prefix replaces the mounts' own
 */
export async function addRoutes(
  app: FastifyInstance,
  served: readonly Served[],
  authentication: Authentication,
  prefix?: string,
): Promise<void> {
  for (const one of served) {
    const url = (prefix ?? MOUNTS[one.route.mount]) + one.route.path;
    if (one.route.form) await app.register((scope) => addForm(scope, url, one, authentication));
    else addRoute(app, url, one, authentication);
  }
}

/** Adds a form route in a scope of its own, whose parser accepts forms and nothing else. */
async function addForm(scope: FastifyInstance, url: string, served: Served, authentication: Authentication) {
  scope.removeAllContentTypeParsers();
  await scope.register(multipart);
  addRoute(scope, url, served, authentication);
}

function addRoute(app: FastifyInstance, url: string, { route, handle }: Served, authentication: Authentication): void {
  const { method, query, body, maxBody, summary, description, tags } = route;
  const params = paramsOf(route);
  const credentials = credentialsOf(route.who);
  app.route({
    method: route.head ? [method, "HEAD"] : method,
    url,
    config: { ...(route.load && CONFIG[route.load]), otherHosts: route.otherHosts ?? "undecided" },
    ...(maxBody !== undefined && { bodyLimit: maxBody }),
    ...(route.form && { validatorCompiler: unvalidated as never }),
    schema: {
      summary,
      tags: [...tags],
      ...(credentials && { security: credentials }),
      ...(description !== undefined && { description }),
      ...(route.form && { consumes: ["multipart/form-data"] }),
      ...(params && { params }),
      ...(query && { querystring: query }),
      ...(body && { body }),
      response: { ...route.ok, ...errors(...errorsOf(route)), ...route.faults },
    },
    async handler(request, reply) {
      handled.add(request);
      try {
        return await handle(request, reply, authentication);
      } catch (error) {
        throw withoutSecrets(error, request.body, route.secret);
      }
    },
    ...(credentials && { errorHandler: credentialFirst(route.who, authentication) }),
  });
}

/** Requests whose credential the route's handler has checked, or is checking. */
const handled = new WeakSet<FastifyRequest>();

/**
 * Returns an error handler that checks the credential of a request whose body or fields were refused. A caller without
 * a live one learns that, and nothing about the fields; one that invents a credential for each request is limited as
 * one that guesses.
 */
function credentialFirst(who: Who, authentication: Authentication) {
  const check = "session" in who ? "session" : "keyOrSession" in who ? "sessionOrKey" : "key";
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    const { statusCode = 500 } = error;
    const isAnonymous = "optionalKey" in who && apiKeyOf(request) === undefined;
    if (handled.has(request) || isAnonymous || statusCode === 429 || statusCode >= 500) return void reply.send(error);
    void authentication[check](request)
      .then(
        () => error,
        (refusal: unknown) => (isOfCredential(refusal) ? refusal : error),
      )
      .then((answer) => reply.send(answer));
  };
}

const isOfCredential = (refusal: unknown): refusal is HubError =>
  refusal instanceof HubError && (refusal.statusCode === 401 || refusal.statusCode === 429);

/** Returns the schema of a path's parameters; undefined for a path without any. */
function paramsOf({ params, path }: Route): z.ZodObject | undefined {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!);
  if (params !== undefined || names.length === 0) return params;
  return z.object(Object.fromEntries(names.map((name) => [name, z.string()])));
}

/** Removes the values of secret fields from an error before it reaches the client and the log. */
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
