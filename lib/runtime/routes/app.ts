import { fastify, type FastifyBaseLogger, type FastifyInstance, LogController } from "fastify";
import { IPC_SEGMENT } from "../../contract/surfaces/runtime.ts";
import type { Logger } from "../../support/logging.ts";
import { traceRequests } from "../../support/tracing/http-server.ts";
import { answerClientError, answerErrors, asFault, nextRequestId, sendFault } from "../router/error-answer.ts";
import { DOCS_POLICY, docsPage } from "./docs-page.ts";
import { addIpcRoutes, type IpcOptions } from "./ipc.ts";
import { pluginKeyCheck } from "./plugin-key.ts";
import { addPluginRoutes } from "./plugin-routes.ts";

export interface AppOptions extends Omit<IpcOptions, "checkKey"> {
  logger: Logger;
  /** The metrics as Prometheus text. */
  prometheus: () => Promise<{ contentType: string; text: string }>;
}

/** Builds the HTTP side of a runtime: surface C, `/healthz`, `/metrics` and the routes of trusted plugins. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { settings, isClosing, catalogue } = options;
  const { app: appSettings, observability } = settings;
  // By its wider type, so that the app has Fastify's own.
  const requestLogger: FastifyBaseLogger = options.logger;
  const { plugin_prefix: prefix, server } = appSettings;
  const requestTimeout = server.request_seconds * 1000;
  const checkKey = pluginKeyCheck(appSettings.secret_key);
  const app = fastify({
    loggerInstance: requestLogger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: server.body_limit,
    genReqId: nextRequestId,
    // A logger for each request costs more than a call; records that concern a request carry its id themselves.
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

  app.get("/healthz", (_request, reply) =>
    reply.code(isClosing() ? 503 : 200).send({ status: isClosing() ? "closing" : "ok" }),
  );
  app.get("/metrics", async (request, reply) => {
    const fault = observability.metrics.open ? undefined : checkKey(request);
    if (fault) return sendFault(reply, fault);
    const { contentType, text } = await options.prometheus();
    return reply.header("content-type", contentType).send(text);
  });
  app.get("/docs", (_request, reply) =>
    reply
      .headers({ "content-type": "text/html; charset=utf-8", "content-security-policy": DOCS_POLICY })
      .send(docsPage(prefix)),
  );
  await app.register(async (scope) => addIpcRoutes(scope, { ...options, checkKey }), {
    prefix: `${prefix}/${IPC_SEGMENT}`,
  });
  await app.register(async (scope) => addPluginRoutes(scope, catalogue), { prefix });
  traceRequests(app.server);
  return app;
}
