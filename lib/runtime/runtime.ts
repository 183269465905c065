import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { FastifyInstance } from "fastify";
import { EXIT } from "../contract/codes.ts";
import { INTEGRATION_FILE } from "../contract/files/manifest.ts";
import { createLogger, type Logger } from "../support/logging.ts";
import type { Auditor, PermissionModel } from "./base/instance.ts";
import { sandboxUser } from "./base/user.ts";
import { Broker, type StandIns } from "./calls/broker.ts";
import { CallLog, type EndedCall } from "./calls/call-log.ts";
import { Calls } from "./calls/calls.ts";
import { Catalogue } from "./catalogue/catalogue.ts";
import type { PluginSlot } from "./catalogue/plugin-slot.ts";
import { type Configuration, hideSecrets, readConfiguration, resolveConfiguration } from "./configuration.ts";
import { chooseGroups, chooseWall } from "./lifecycle/choose-walls.ts";
import { diagnose } from "./lifecycle/health.ts";
import { HealthMonitor } from "./lifecycle/health-monitor.ts";
import { instanceFactory } from "./lifecycle/instance-factory.ts";
import { Lifecycle } from "./lifecycle/lifecycle.ts";
import { Metrics, type Observed } from "./observability/metrics.ts";
import { createTokenVerifier } from "./router/bearer-token.ts";
import { createApp } from "./routes/app.ts";
import type { Inspect } from "./sandbox/launch.ts";
import { MemorySampler } from "./sandbox/memory-sampler.ts";
import { Reaper } from "./sandbox/reaper.ts";
import { Scheduler } from "./services/scheduler.ts";
import { openServices } from "./services/services.ts";
import { Watchdog } from "./watchdog/watchdog.ts";

export interface RuntimeOptions {
  /** `integration.yaml`; undefined when `configuration` is given. Default: that file in `root`. */
  configFile?: string;
  /** Content of the configuration as an object; `${VAR}` and overrides apply to it as well. */
  configuration?: unknown;
  /** Project root, the base of relative paths. Default: the configuration file's folder. */
  root?: string;
  /** Overrides `plugins.directory`. */
  pluginsDir?: string;
  /** Overrides `app.server`. Port 0 takes any free one. */
  listen?: { host: string; port: number };
  /** Source of `${VAR}`, overrides and the plugins' variables. Default: the process's environment. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Logger. Default: JSON on standard error at the configured level. */
  logger?: Logger;
  /**
   * Keeps uncaught errors of trusted plugins from ending this process. For processes that are nothing but a runtime.
   * Default false.
   */
  guardProcess?: boolean;
  /** Address at which a debugger may attach to a sandboxed plugin, for a runtime of one plugin. */
  inspect?: Inspect;
  /** Permission model of Node. Default `enforced`. */
  permissionModel?: PermissionModel;
  /**
   * Folder of this process's control group, instead of asking the kernel. Default: with `guardProcess`, the group of
   * the process; otherwise sandboxes get no groups.
   */
  controlGroup?: string;
  /** Audit hook. While set, permissions are recorded, not enforced. */
  auditor?: Auditor;
  /** Stand-ins for services and other plugins, in a trial. */
  standIns?: StandIns;
  /** Called with every call that has ended. */
  onCall?: (call: EndedCall) => void;
}

export interface Runtime {
  readonly app: FastifyInstance;
  readonly catalogue: Catalogue;
  readonly lifecycle: Lifecycle;
  /** Loads the plugins unless already done, and listens. Returns the URL. */
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
  const { name, state, memory_mb, generations, generation_bytes, instances } = slot.status();
  return {
    name,
    state,
    ...(memory_mb !== undefined && { memoryBytes: memory_mb * 1024 * 1024 }),
    ...(instances !== undefined && {
      instances: instances.map(({ memory_mb: megabytes = 0, in_flight, serving }) => ({
        ...{ memoryBytes: megabytes * 1024 * 1024, inFlight: in_flight, serving },
      })),
    }),
    ...(generations !== undefined && { generations }),
    ...(generation_bytes !== undefined && { generationBytes: generation_bytes }),
  };
}

/**
 * Returns why no wall is built: a debugger connects over the host's own network, and an audit has to see what a wall
 * would block.
 */
function waiverOf({ inspect, permissionModel }: RuntimeOptions): string | undefined {
  if (inspect) return "a debugger may attach";
  return permissionModel === "audited" ? "the plugin is audited" : undefined;
}

/**
 * Builds a runtime: reads the configuration, opens the services and prepares surface C. Plugins load with `listen`.
 * @throws SealiftError `config_invalid` with every fault of the configuration
 */
export async function createRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  const { configuration, root } = await configurationOf(options);
  const { settings, reserved } = configuration;
  const { app: appSettings, observability, plugins } = settings;
  const logger = options.logger ?? createLogger({ name: appSettings.name, level: observability.logging.level });
  // A copy: from the process itself the secrets are taken below.
  const env = options.env ?? { ...process.env };
  const wall = await chooseWall(settings, sandboxUser(plugins.sandbox), logger, {
    waived: waiverOf(options),
    quiet: options.guardProcess !== true,
  });
  const directory = resolve(root, options.pluginsDir ?? plugins.directory);
  if (!existsSync(directory)) logger.warn(`there are no plugins yet: ${directory} does not exist`);
  const groups = await chooseGroups(settings, options, logger);

  // Everything that ends with the runtime, in starting order; a failed start leaves nothing behind.
  await using building = new AsyncDisposableStack();
  if (wall.wall) building.use(wall.wall);
  if (groups.groups) building.use(groups.groups);
  const verifyToken = await createTokenVerifier(settings.auth.jwt, root);
  const metrics = new Metrics();
  if (options.guardProcess === true) {
    building.use(guardProcess(logger, metrics));
    // Stacks of compiled trusted plugins refer to lines of the sources.
    process.setSourceMapsEnabled(true);
  }
  // A process that does other work too, such as a trial, blocks its loop itself, which needs no report.
  const announce = options.guardProcess === true ? "all" : "plugins";
  const watchdog = new Watchdog({
    thresholdMs: observability.metrics.blocked_after_ms,
    announce: logger.level === "silent" ? "none" : announce,
    onBlocked: ({ seconds, plugin }) => {
      metrics.loopBlocked(seconds);
      if (announce === "all" || plugin !== undefined) logger.error({ plugin, seconds }, "the event loop was blocked");
    },
  });
  building.use(watchdog);
  if (Object.keys(settings.services.extensions).length > 0) watchdog.watchTrustedCode();
  const reaper = building.use(new Reaper());
  const sampler = new MemorySampler();
  const services = await openServices(settings, { root, logger, reaper, sampler, resources: building });

  const catalogue = new Catalogue(directory, logger);
  const calls = new Calls(catalogue, metrics, new CallLog(logger, options.onCall));
  const broker = new Broker(services, calls, options);
  const instantiate = instanceFactory({
    ...{ settings, verifyToken, watchdog, reaper, sampler, wall, groups: groups.groups },
    inspect: options.inspect,
    permissionModel: options.permissionModel ?? "enforced",
  });
  const lifecycle = new Lifecycle({
    ...{ catalogue, broker, instantiate, metrics, logger, env, reserved },
    auditor: options.auditor,
    comebackSeconds: plugins.sandbox.restart_window_seconds,
  });
  const scheduler = building.use(new Scheduler(settings.services.scheduler.jobs, { caller: calls, logger }));
  const monitor = building.use(new HealthMonitor(catalogue, logger));
  metrics.observe(() => ({ plugins: catalogue.all.map(observedOf), callsInFlight: calls.inFlight }));

  let closing = false;
  const app = await createApp({
    settings,
    logger,
    catalogue,
    lifecycle,
    calls,
    health: () =>
      diagnose({ services, catalogue, watchdog, wall, groups, maxGenerationBytes: plugins.max_generation_bytes }),
    metrics: () => metrics.snapshot(),
    prometheus: async () => ({ contentType: metrics.contentType, text: await metrics.prometheus() }),
    isClosing: () => closing,
  });

  // Before the first code of a plugin. A process that does other work, too, may need its variables for that.
  if (options.guardProcess === true && options.env === undefined) hideSecrets(process.env, reserved);
  const resources = building.move();
  let loaded: Promise<void> | undefined;
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    closing = true;
    const drainMs = appSettings.server.drain_seconds * 1000;
    scheduler[Symbol.dispose]();
    monitor[Symbol.dispose]();
    await loaded?.catch(() => undefined);
    // Calls in flight keep their connections until the drain is over; then they are closed.
    const cut = setTimeout(() => app.server.closeAllConnections(), drainMs);
    await app.close();
    clearTimeout(cut);
    await lifecycle.close(drainMs);
    await resources.disposeAsync();
  };
  return {
    app,
    catalogue,
    lifecycle,
    async listen() {
      loaded ??= lifecycle.loadAll();
      await loaded;
      const { host, port } = options.listen ?? appSettings.server;
      const url = await app.listen({ host, port });
      scheduler.start();
      monitor.start();
      return url;
    },
    async refresh() {
      for (const service of services.values()) await service.reload?.();
      await lifecycle.refresh();
    },
    close: () => (closed ??= close()),
  };
}

/**
 * Keeps the runtime running on uncaught errors of a trusted plugin, so that no plugin harms another. They are logged
 * and counted. A plugin that ends the process itself is logged, and is not a success. Dispose of the guard to remove
 * the handlers.
 */
function guardProcess(logger: Logger, metrics: Metrics): Disposable {
  const note = (kind: string) => (error: unknown) => {
    metrics.uncaught();
    logger.error({ err: error }, `${kind} in the runtime's process, most likely in a trusted plugin`);
  };
  const exception = note("an uncaught exception");
  const rejection = note("an unhandled rejection");
  const exit = (code: number): void => {
    // A second Ctrl-C waits for nothing.
    if (code === EXIT.interrupted) return;
    if (code === EXIT.done) process.exitCode = EXIT.unsettled;
    logger.error({ code }, "the runtime's process was ended from within, most likely by a trusted plugin");
  };
  process.on("exit", exit);
  process.on("uncaughtException", exception);
  process.on("unhandledRejection", rejection);
  return {
    [Symbol.dispose]() {
      process.off("exit", exit);
      process.off("uncaughtException", exception);
      process.off("unhandledRejection", rejection);
    },
  };
}
