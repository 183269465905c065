import { timingSafeEqual } from "node:crypto";
import {
  fastify,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from "fastify";
import { IPC_SEGMENT } from "../../contract/surfaces/runtime.ts";
import type { Logger } from "../../support/logging.ts";
import { hostFault } from "../../support/network/host-field.ts";
import { tellServer } from "../../support/work.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import { RuntimeFault } from "../guest/fault.ts";
import { answerClientError, answerErrors, asFault, nextRequestId, sendFault } from "../router/error-answer.ts";
import { NO_COMPILERS } from "../router/no-compilers.ts";
import { addIpcRoutes, type IpcOptions } from "./ipc.ts";

export interface AppOptions extends Omit<IpcOptions, "checkKey"> {
  logger: Logger;
  /** Returns the metrics as Prometheus text. */
  prometheus: () => Promise<{ contentType: string; text: string }>;
}

/** Builds the HTTP side of a runtime: surface C, `/healthz`, `/metrics` and the routes of trusted plugins. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { settings, isClosing, catalogue } = options;
  const { app: appSettings, observability } = settings;
  // Typed more widely, so that the app has Fastify's own type.
  const requestLogger: FastifyBaseLogger = options.logger;
  const { plugin_prefix: prefix, server } = appSettings;
  const requestTimeout = server.request_seconds * 1000;
  const isKey = keyComparison(appSettings.secret_key);
  const checkKey = (request: FastifyRequest) => keyFault(request.headers["x-plugin-key"], isKey);
  const app = fastify({
    loggerInstance: requestLogger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: server.body_limit,
    schemaController: NO_COMPILERS,
    genReqId: nextRequestId,
    // A logger for each request costs more than a call; records about a request carry its id themselves.
    childLoggerFactory: (parent) => parent,
    forceCloseConnections: "idle",
    // Requests on connections that stay open meanwhile are still answered: a drain fails no call.
    return503OnClosing: false,
    routerOptions: { maxParamLength: 256 },
    requestTimeout,
    // Node.js compares both with the clock at each check.
    http: {
      headersTimeout: Math.min(60_000, requestTimeout),
      connectionsCheckingInterval: Math.min(10_000, requestTimeout / 2),
    },
    clientErrorHandler: answerClientError,
    // A URL that cannot be decoded reaches no route, and so no hook either.
    frameworkErrors: (error, request, reply) => {
      const isSystems = request.url.startsWith(`${prefix}/${IPC_SEGMENT}/`);
      sendFault(reply, (isSystems ? checkKey(request) : undefined) ?? asFault(error));
    },
  });
  answerErrors(app);
  app.addHook("onRequest", ({ raw }, _reply, done) => {
    const fault = hostFault(raw);
    done(fault === undefined ? undefined : new RuntimeFault("bad_request", fault));
  });

  app.get("/healthz", (_request, reply) =>
    reply.code(isClosing() ? 503 : 200).send({ status: isClosing() ? "closing" : "ok" }),
  );
  app.get("/metrics", async (request, reply) => {
    const fault = observability.metrics.open ? undefined : keyFault(metricsKey(request), isKey);
    if (fault) return sendFault(reply, fault);
    const { contentType, text } = await options.prometheus();
    return reply.header("content-type", contentType).send(text);
  });
  await app.register(async (scope) => addIpcRoutes(scope, { ...options, checkKey }), {
    prefix: `${prefix}/${IPC_SEGMENT}`,
  });
  await app.register(async (scope) => addPluginRoutes(scope, catalogue), { prefix });
  tellServer(app.server);
  return app;
}

/** Checks X-Plugin-Key (docs/contract/README.md#authentication). */
function keyFault(given: unknown, isKey: (given: string) => boolean): RuntimeFault | undefined {
  if (typeof given !== "string" || given === "")
    return new RuntimeFault("key_missing", "The request carries no X-Plugin-Key.");
  return isKey(given) ? undefined : new RuntimeFault("key_rejected", "The X-Plugin-Key is wrong.");
}

/** Returns the key of a request for metrics. Before version 2.55, Prometheus sends no headers but `Authorization`. */
function metricsKey({ headers }: FastifyRequest): unknown {
  return headers["x-plugin-key"] ?? /^Bearer (.+)$/i.exec(headers.authorization ?? "")?.[1];
}

/**
 * Returns a comparison in constant time, over as many bytes as the key has: a near miss takes as long as any other key.
 */
function keyComparison(key: string): (header: string) => boolean {
  const expected = Buffer.from(key);
  const given = Buffer.alloc(expected.length);
  return (header) => {
    // Node shows header bytes as Latin-1; written back so, a UTF-8 key is what was sent. Leftovers of a longer one in
    // the buffer do not count, because the length does.
    given.write(header, 0, "latin1");
    return timingSafeEqual(given, expected) && header.length === expected.length;
  };
}

/**
 * Adds the wildcard route that hands requests to the routers of trusted plugins. It runs before the body is read,
 * because the plugin's own Fastify instance reads it.
 */
function addPluginRoutes(app: FastifyInstance, catalogue: Catalogue): void {
  const handOver = (request: FastifyRequest, reply: FastifyReply, next: () => void): void => {
    const { plugin } = request.params as { plugin: string };
    const handle = plugin === IPC_SEGMENT ? undefined : catalogue.find(plugin)?.instance?.handle;
    if (handle === undefined) return next();
    reply.hijack();
    // The plugin's instance takes the same id from the header, so that both logs agree.
    request.raw.headers["x-request-id"] ??= request.id;
    handle(request.raw, reply.raw);
  };
  const notFound = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { plugin } = request.params as { plugin: string };
    const slot = catalogue.find(plugin);
    const fault =
      slot === undefined
        ? new RuntimeFault("plugin_not_found", `There is no plugin ${plugin}.`)
        : slot.instance === undefined
          ? new RuntimeFault("not_loaded", `The plugin ${plugin} is not loaded.`)
          : new RuntimeFault("not_found", `The plugin ${plugin} has no routes.`);
    return sendFault(reply, fault);
  };
  app.all("/:plugin", { onRequest: handOver }, notFound);
  app.all("/:plugin/*", { onRequest: handOver }, notFound);
}
