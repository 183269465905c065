import { dirname, resolve } from "node:path";
import { fastify, type FastifyBaseLogger, type FastifyInstance, LogController } from "fastify";
import { INTEGRATION_FILE } from "../contract/files/manifest.ts";
import { IPC_SEGMENT } from "../contract/surfaces/runtime.ts";
import { createLogger, type Logger } from "../support/logging.ts";
import { Broker } from "./calls/broker.ts";
import { Calls } from "./calls/calls.ts";
import { type Configuration, readConfiguration, resolveConfiguration } from "./configuration.ts";
import { Instances } from "./lifecycle/instances.ts";
import type { PluginSlot } from "./lifecycle/plugin-slot.ts";
import { Plugins } from "./lifecycle/plugins.ts";
import { guardProcess } from "./lifecycle/process-guard.ts";
import { diagnose } from "./observability/health.ts";
import { HealthMonitor } from "./observability/health-monitor.ts";
import { Metrics, type Observed } from "./observability/metrics.ts";
import { answerErrors, sendFault } from "./routes/error-answer.ts";
import { addIpcRoutes } from "./routes/ipc.ts";
import { pluginKeyCheck } from "./routes/plugin-key.ts";
import { addPluginRoutes } from "./routes/plugin-routes.ts";
import { nextRequestId } from "./routes/request-id.ts";
import { Reaper } from "./sandbox/reaper.ts";
import { Scheduler } from "./services/scheduler.ts";
import { openServices } from "./services/services.ts";
import { createTokenVerifier } from "./trusted/bearer-token.ts";
import { Watchdog } from "./watchdog/watchdog.ts";

export interface RuntimeOptions {
  /** `integration.yaml`; left out when `configuration` is given. Default: that file in `root`. */
  configFile?: string;
  /** The same content as an object; `${VAR}` and overrides hold for it as well. */
  configuration?: unknown;
  /** The project root, which relative paths start from. Default: the configuration file's folder. */
  root?: string;
  /** Overrides `plugins.directory`. */
  pluginsDir?: string;
  /** Overrides `app.server`. Port 0 takes any free one. */
  listen?: { host: string; port: number };
  /** Where `${VAR}`, overrides and the plugins' variables come from. Default: the process's environment. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Default: JSON on standard error at the configured level. */
  logger?: Logger;
  /**
   * Keeps errors that a trusted plugin did not catch from ending this process. For a process that is nothing but a runtime.
   * Default false.
   */
  guardProcess?: boolean;
}

export interface Runtime {
  readonly app: FastifyInstance;
  readonly plugins: Plugins;
  /** Loads the plugins, if that has not happened, and listens. Returns the URL. */
  listen(): Promise<string>;
  /** Loads what is new on disk and reloads what is loaded, extensions first. */
  refresh(): Promise<void>;
  /** Stops listening, lets calls finish for `app.server.drain_seconds`, then ends every plugin and process. */
  close(): Promise<void>;
}

async function configurationOf(options: RuntimeOptions): Promise<{ configuration: Configuration; root: string }> {
  const env = options.env ?? process.env;
  if (options.configuration !== undefined) {
    const root = resolve(options.root ?? ".");
    return { configuration: resolveConfiguration(options.configuration, env), root };
  }
  const file = resolve(options.configFile ?? resolve(options.root ?? ".", INTEGRATION_FILE));
  return { configuration: await readConfiguration(file, env), root: resolve(options.root ?? dirname(file)) };
}

function observedOf(slot: PluginSlot): Observed["plugins"][number] {
  const { name, state, memory_mb, generations, generation_bytes } = slot.status();
  return {
    name,
    state,
    ...(memory_mb !== undefined && { memoryBytes: memory_mb * 1024 * 1024 }),
    ...(generations !== undefined && { generations }),
    ...(generation_bytes !== undefined && { generationBytes: generation_bytes }),
  };
}

/**
 * Builds a runtime: reads the configuration, opens the services and prepares surface C. Plugins load with `listen`.
 * @throws SealiftError `config_invalid` with every fault of the configuration
 */
export async function createRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  const { configuration, root } = await configurationOf(options);
  const { settings, reserved } = configuration;
  const { app: appSettings, observability } = settings;
  const logger = options.logger ?? createLogger({ name: appSettings.name, level: observability.logging.level });
  const prefix = appSettings.plugin_prefix;

  const verifyToken = await createTokenVerifier(settings.auth.jwt, root);

  const metrics = new Metrics(() => ({
    plugins: plugins.all.map((slot) => observedOf(slot)),
    callsInFlight: calls.inFlight,
  }));
  const watchdog = new Watchdog({
    thresholdMs: observability.metrics.blocked_after_ms,
    announce: logger.level !== "silent",
    onBlocked: ({ seconds, plugin }) => {
      metrics.loopBlocked(seconds);
      logger.error({ plugin, seconds }, "the event loop was blocked");
    },
  });
  const reaper = new Reaper();
  const services = await openServices(settings, { root, logger, reaper });
  const broker = new Broker(services, (...call) => calls.call(...call));
  const instances = new Instances({ settings, verifyToken, prefix, watchdog, reaper });
  const plugins: Plugins = new Plugins({
    directory: resolve(root, options.pluginsDir ?? settings.plugins.directory),
    env: options.env ?? process.env,
    reserved,
    logger,
    metrics,
    instantiate: (instanceOptions, slot) => instances.make(instanceOptions, slot),
    request: (caller, ...request) => broker.request(caller, ...request),
    forget: (caller) => broker.forget(caller),
  });
  const calls: Calls = new Calls(plugins, metrics);
  const scheduler = new Scheduler(settings.services.scheduler.jobs, { calls, logger });
  const monitor = new HealthMonitor(plugins, logger);
  const unguard = options.guardProcess === true ? guardProcess(logger, metrics) : undefined;

  let closing = false;
  // By its wider type, so that the app has Fastify's own.
  const requestLogger: FastifyBaseLogger = logger;
  const app = fastify({
    loggerInstance: requestLogger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: appSettings.server.body_limit,
    genReqId: nextRequestId,
    // A logger for each request costs more than a call; records that concern a request carry its id themselves.
    childLoggerFactory: (parent) => parent,
    forceCloseConnections: "idle",
    // Requests on connections that stay open meanwhile are still answered: a drain fails no call.
    return503OnClosing: false,
    routerOptions: { maxParamLength: 256 },
  });
  answerErrors(app);

  const checkKey = pluginKeyCheck(appSettings.secret_key);
  app.get("/healthz", (_request, reply) =>
    reply.code(closing ? 503 : 200).send({ status: closing ? "closing" : "ok" }),
  );
  app.get("/metrics", async (request, reply) => {
    const fault = observability.metrics.open ? undefined : checkKey(request);
    if (fault) return sendFault(reply, fault);
    return reply.header("content-type", metrics.contentType).send(await metrics.prometheus());
  });
  const health = () =>
    diagnose({
      services,
      slots: () => plugins.all,
      watchdog,
      maxGenerationBytes: settings.plugins.max_generation_bytes,
    });
  await app.register(
    async (scope) =>
      addIpcRoutes(scope, {
        plugins,
        calls,
        health,
        metrics: () => metrics.snapshot(),
        checkKey,
        isClosing: () => closing,
      }),
    { prefix: `${prefix}/${IPC_SEGMENT}` },
  );
  await app.register(async (scope) => addPluginRoutes(scope, plugins), { prefix });

  let loaded: Promise<void> | undefined;
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    closing = true;
    const drain = appSettings.server.drain_seconds * 1000;
    scheduler.close();
    monitor.close();
    await loaded?.catch(() => undefined);
    // Calls in flight keep their connections; whoever is still there after the drain is cut off.
    const cut = setTimeout(() => app.server.closeAllConnections(), drain);
    await app.close();
    clearTimeout(cut);
    await plugins.close(drain);
    await Promise.all([...services.values()].map((service) => service.close()));
    await reaper.close();
    await watchdog.close();
    unguard?.();
  };
  return {
    app,
    plugins,
    async listen() {
      loaded ??= plugins.loadAll();
      await loaded;
      const { host, port } = options.listen ?? appSettings.server;
      const url = await app.listen({ host, port });
      scheduler.start();
      monitor.start();
      return url;
    },
    async refresh() {
      for (const service of services.values()) await service.reload?.();
      await plugins.refresh();
    },
    close: () => (closed ??= close()),
  };
}
