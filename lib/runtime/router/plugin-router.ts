import type { IncomingMessage, ServerResponse } from "node:http";
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from "fastify";
import type { Logger } from "../../support/logging.ts";
import type { LoadedPlugin } from "../guest/definition.ts";
import { RuntimeFault } from "../guest/fault.ts";
import { type Claims, missingPermissions, type TokenVerifier } from "./bearer-token.ts";
import { bodyTurns } from "./body-turns.ts";
import { requireFewValues } from "./body-values.ts";
import { answerErrors, nextRequestId } from "./error-answer.ts";
import { NO_COMPILERS } from "./no-compilers.ts";

/**
 * HTTP routes of one generation of a plugin, in a Fastify instance of its own, because Fastify can neither add routes
 * after listen nor remove any. The runtime's wildcard route hands requests over; dropping the instance drops the
 * routes.
 */

declare module "fastify" {
  interface FastifyContextConfig {
    /** Permissions that the bearer token must all have; an empty list only requires a valid token. */
    permissions?: readonly string[];
  }
  interface FastifyRequest {
    /** Verified claims, on routes that declare permissions. */
    claims: Claims | null;
  }
}

export interface PluginRouter {
  handle(request: IncomingMessage, response: ServerResponse): void;
  close(): Promise<void>;
}

/** Route as the runtime serves it, whichever way its plugin runs. */
export interface ServedRoute {
  methods: readonly string[];
  path: string;
  permissions: readonly string[] | undefined;
  handler: (request: FastifyRequest, reply: FastifyReply) => unknown;
}

export interface RouterOptions {
  routes: readonly ServedRoute[];
  /** Router of the plugin, for more than `routes` can express. */
  router?: LoadedPlugin["router"];
  /** Leaves bodies to the handlers, as they arrive. */
  rawBodies?: boolean;
  /** `/plugin/<name>`. */
  prefix: string;
  logger: Logger;
  verifyToken: TokenVerifier;
  bodyLimit: number;
  /** JSON values that a body may have; sandboxes parse their own bodies. */
  maxBodyValues?: number;
}

/** Returns the hook that checks permissions before anything of the plugin's runs, and before the body is read. */
function checkPermissions(verifyToken: TokenVerifier) {
  return async (request: FastifyRequest): Promise<void> => {
    const required = request.routeOptions.config.permissions;
    if (required === undefined) return;
    const claims = await verifyToken(request.headers.authorization);
    const missing = missingPermissions(claims, required);
    if (missing.length > 0) {
      throw new RuntimeFault("forbidden", `The token lacks the permission ${missing.join(", ")}.`);
    }
    request.claims = claims;
  };
}

function addRoutes(app: FastifyInstance, routes: readonly ServedRoute[]): void {
  for (const { methods, path, permissions, handler } of routes) {
    const config = permissions === undefined ? {} : { permissions };
    app.route({ method: [...methods], url: path, config, handler });
  }
}

/** Reads JSON as Fastify does, by turns with other plugins. @param name of the plugin, for its turns */
function readJson(app: FastifyInstance, name: string, maxBodyValues: number): void {
  const parse = app.getDefaultJsonParser("error", "error");
  app.removeContentTypeParser("application/json");
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
    const bytes = body as Buffer;
    bodyTurns.take(name, bytes.length, () => {
      try {
        requireFewValues(bytes, maxBodyValues);
        void parse(request, bytes.toString(), done);
      } catch (error) {
        done(error as Error, undefined);
      }
    });
  });
}

/**
 * Creates the router. @returns undefined for a plugin without routes. @throws errors of registering the plugin's routes
 */
export async function createPluginRouter(options: RouterOptions): Promise<PluginRouter | undefined> {
  const { routes, router, rawBodies, prefix, logger, verifyToken, bodyLimit, maxBodyValues } = options;
  if (routes.length === 0 && router === undefined) return undefined;
  const app = fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit,
    genReqId: nextRequestId,
    // A sandboxed plugin has no `request.log`, and log records about its requests carry their id.
    ...(rawBodies && { childLoggerFactory: (parent) => parent, schemaController: NO_COMPILERS }),
    pluginTimeout: 10_000,
    forceCloseConnections: false,
  });
  app.decorateRequest("claims", null);
  app.addHook("onRequest", async (request, reply) => {
    reply.header("x-request-id", request.id);
  });
  app.addHook("onRequest", checkPermissions(verifyToken));
  answerErrors(app as unknown as FastifyInstance);
  if (rawBodies) {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", (_request, _body, done) => done(null));
  } else if (maxBodyValues !== undefined) readJson(app as unknown as FastifyInstance, prefix, maxBodyValues);
  const mount = async (scope: FastifyInstance): Promise<void> => {
    addRoutes(scope, routes);
    if (router) await scope.register(router);
  };
  await app.register(mount as never, { prefix });
  await app.ready();
  return {
    handle: (request, response) => app.routing(request, response),
    close: () => app.close(),
  };
}
