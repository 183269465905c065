import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { HealthReport } from "../../sdk/definition.ts";
import { traceOf } from "../../support/work.ts";
import type { CallFacts, InstanceDescription, InstanceOptions, PluginInstance, RouteFacts } from "../base/instance.ts";
import { LogBudget } from "../base/log-budget.ts";
import { sandboxUser } from "../base/user.ts";
import type { GuestFacts } from "../guest/context.ts";
import { type RuntimeFault, UnreadFault } from "../guest/fault.ts";
import type { NetworkProxy } from "../network/proxy.ts";
import { createPluginRouter, type PluginRouter } from "../router/plugin-router.ts";
import type { ProcessView } from "../walls/wall.ts";
import { DiskLimit } from "./disk-limit.ts";
import { sandboxLaunch } from "./launch.ts";
import { sharesOf } from "./memory-shares.ts";
import type { CallLimits } from "./open-call.ts";
import { openProxy } from "./open-proxy.ts";
import type { ProcessOptions } from "./process-options.ts";
import { RestartPolicy } from "./restart-policy.ts";
import { RouteExchange } from "./route-exchange.ts";
import { SandboxProcess } from "./sandbox-process.ts";
import { leastBusy, SandboxSeat, whenServing } from "./sandbox-seat.ts";
import { confinedBy, type SandboxSetting } from "./sandbox-setting.ts";
import { prepareWorkspace, type Workspace } from "./workspace.ts";

const MEGABYTE = 1024 * 1024;
/** Time that a call waits for a restart in addition to its own, in milliseconds. */
const RESTART_MARGIN_MS = 5000;

/** Time for which a call may be held at a breakpoint, in milliseconds. */
const DEBUGGING_MS = 24 * 60 * 60 * 1000;

/** Sandboxed plugin: one or several serving processes, each kept within its limits. */
export class SandboxInstance implements PluginInstance {
  readonly mode = "sandboxed";
  actions: ReadonlySet<string> = new Set();
  handle?: (request: IncomingMessage, response: ServerResponse) => void;
  readonly #options: InstanceOptions;
  readonly #setting: SandboxSetting;
  readonly #workspace: Workspace;
  readonly #disk: DiskLimit;
  readonly #proxy: NetworkProxy | undefined;
  readonly #log: LogBudget;
  readonly #seats: readonly SandboxSeat[];
  #router: PluginRouter | undefined;
  #replaces: boolean;
  #turn = 0;
  #described: InstanceDescription = { actions: new Map(), routes: [] };

  private constructor(
    options: InstanceOptions,
    setting: SandboxSetting,
    workspace: Workspace,
    proxy: NetworkProxy | undefined,
  ) {
    this.#options = options;
    this.#setting = setting;
    this.#workspace = workspace;
    this.#proxy = proxy;
    this.#disk = new DiskLimit(workspace.writes, options.descriptor.resources.max_disk_mb, options.logger);
    this.#log = new LogBudget((lines) => options.logger.warn({ lines }, "lines of the plugin's output were dropped"));
    this.#replaces = options.replaces;
    this.#seats = Array.from({ length: setting.instances }, () => this.#seat());
  }

  /** Starts the plugin. @throws RuntimeFault with the reason that it cannot run */
  static async load(options: InstanceOptions, setting: SandboxSetting): Promise<SandboxInstance> {
    const workspace = await prepareWorkspace(options.location, options.descriptor, sandboxUser(setting.limits));
    const instance = new SandboxInstance(options, setting, workspace, await openProxy(options, setting));
    try {
      await instance.#start();
    } catch (error) {
      await instance.stop();
      throw error;
    }
    instance.#replaces = false;
    instance.#disk.watch(
      () => instance.#processes,
      setting.sampler,
      (fault) => {
        for (const process of instance.#processes) process.kill("disk_exceeded", fault.message);
      },
    );
    return instance;
  }

  get inFlight(): number {
    return this.#seats.reduce((count, seat) => count + seat.inFlight, 0);
  }

  get #processes(): SandboxProcess[] {
    return this.#seats.flatMap(({ processes }) => processes);
  }

  describe(): InstanceDescription {
    return this.#described;
  }

  facts(): ReturnType<PluginInstance["facts"]> {
    const instances = this.#seats.map(({ current, restarts, inFlight, serving }) => ({
      restarts,
      in_flight: inFlight,
      serving: serving !== undefined,
      ...(current && { pid: current.pid, memory_mb: megabytes(current.residentBytes) }),
    }));
    const pid = this.#seats[0]?.current?.pid;
    const memory = instances.reduce((sum, { memory_mb = 0 }) => sum + memory_mb, 0);
    return {
      restarts: instances.reduce((sum, { restarts }) => sum + restarts, 0),
      held_by: confinedBy(this.#setting),
      disk: this.#disk.facts,
      ...(pid !== undefined && { pid }),
      ...(memory > 0 && { memory_mb: Math.round(memory * 10) / 10 }),
      ...(instances.length > 1 && { instances }),
    };
  }

  async call(action: string, payload: unknown, facts: CallFacts): Promise<string> {
    const text = facts.payloadText ?? JSON.stringify(payload);
    const limits = this.#callLimits;
    const until = performance.now() + limits.timeoutMs + RESTART_MARGIN_MS;
    for (;;) {
      const process = this.#free ?? (await whenServing(this.#seats, until - performance.now()));
      try {
        return await process.call(action, text, { ...facts, ...limits });
      } catch (error) {
        if (!(error instanceof UnreadFault) || performance.now() > until) throw error;
      }
    }
  }

  async health(timeoutMs: number): Promise<Required<HealthReport>> {
    const reports = await Promise.all(this.#seats.map((seat) => seat.health(timeoutMs)));
    const worst = reports.find(({ status }) => status === "unhealthy");
    return worst ?? reports.find(({ status }) => status === "degraded") ?? reports[0]!;
  }

  /** Delivers an event to one of the processes, so that it is handled once. */
  deliver(event: string, payload: unknown, source: string): void {
    this.#free?.deliver(event, JSON.stringify(payload) ?? "null", source);
  }

  async drain(timeoutMs: number): Promise<void> {
    await Promise.all(this.#seats.map((seat) => seat.drain(timeoutMs)));
  }

  async stop(): Promise<void> {
    this.#giveUp();
    await Promise.all(this.#seats.map((seat) => seat.stop()));
    await this.#router?.close();
    await this.#proxy?.[Symbol.asyncDispose]();
  }

  get #network(): ProcessView["network"] {
    const { kind } = this.#setting.network;
    return kind === "names" ? { socket: this.#proxy?.socket ?? "" } : kind;
  }

  /** Process with the fewest open calls; equals take turns. */
  get #free(): SandboxProcess | undefined {
    return leastBusy(this.#seats, this.#turn++);
  }

  get #callLimits(): CallLimits {
    const { timeout_seconds } = this.#options.descriptor.resources;
    const timeoutMs = this.#setting.inspect ? DEBUGGING_MS : timeout_seconds * 1000;
    return { timeoutMs, graceMs: this.#setting.limits.grace_ms };
  }

  async #start(): Promise<void> {
    const loads = await Promise.allSettled(this.#seats.map((seat) => seat.load()));
    for (const load of loads) if (load.status === "rejected") throw load.reason;
    const { plugin } = (loads[0] as PromiseFulfilledResult<SandboxProcess>).value;
    const { actions, described, routes } = plugin;
    const { logger, descriptor } = this.#options;
    this.actions = actions;
    this.#described = { actions: described, routes };
    const { prefix, verifyToken, bodyLimit } = this.#setting;
    this.#router = await createPluginRouter({
      routes: routes.map((route) => ({ ...route, handler: (request, reply) => this.#serve(route, request, reply) })),
      rawBodies: true,
      ...{ prefix: `${prefix}/${descriptor.name}`, logger, verifyToken, bodyLimit },
    });
    const router = this.#router;
    if (router) this.handle = (request, response) => router.handle(request, response);
  }

  #serve({ methods, path, permissions }: RouteFacts, request: FastifyRequest, reply: FastifyReply): void {
    const { prefix, bodyLimit } = this.#setting;
    const exchange = new RouteExchange(request, reply, {
      route: `${methods.join(",")} ${path}`,
      isProtected: permissions !== undefined,
      prefix: `${prefix}/${this.#options.descriptor.name}`,
      bodyLimit,
    });
    const limits = this.#callLimits;
    const facts = { requestId: request.id, depth: 0, trace: traceOf(request.raw), ...limits };
    const process = this.#free;
    if (process) return process.serve(exchange, facts);
    whenServing(this.#seats, limits.timeoutMs + RESTART_MARGIN_MS).then(
      (restarted) => restarted.serve(exchange, facts),
      (fault: RuntimeFault) => exchange.reject(fault),
    );
  }

  #seat(): SandboxSeat {
    const { descriptor, logger, observer } = this.#options;
    const { limits } = this.#setting;
    return new SandboxSeat({
      start: (late) => this.#startProcess(late),
      policy: new RestartPolicy(limits),
      limits,
      graceMs: limits.grace_ms,
      finishMs: descriptor.resources.timeout_seconds * 1000,
      logger,
      onRestarted: () => observer.restarted(),
      onFailed: ({ code, message }) => {
        this.#giveUp();
        observer.failed(code, message);
      },
    });
  }

  async #startProcess(late: ProcessOptions["late"]): Promise<SandboxProcess> {
    const { descriptor, entry, env, location } = this.#options;
    const { limits, groups, reaper, sampler, databases, extensions } = this.#setting;
    const { reads, writes, dataDir } = this.#workspace;
    const { name, version, config, resources } = descriptor;
    const facts: GuestFacts = { name, version, config, env, dataDir, databases, extensions };
    const { port, logger, observer } = this.#options;
    const user = sandboxUser(limits);
    const cpuPercent = Math.min(resources.cpu_percent ?? limits.cpu_percent, limits.cpu_percent);
    const audited = this.#setting.permissionModel === "audited";
    const memory = sharesOf(resources.max_memory_mb, sampler.nodeBytes);
    return SandboxProcess.start({
      launch: sandboxLaunch({
        reads,
        writes,
        wall: this.#setting.wall,
        grouped: groups !== undefined,
        permissionModel: this.#setting.permissionModel,
        network: this.#network,
        inspect: this.#setting.inspect,
        memory,
        maxDiskMb: resources.max_disk_mb,
        scratchMb: limits.scratch_mb,
      }),
      cwd: location.folder,
      user,
      bounds: groups && {
        groups,
        limits: {
          memoryMb: resources.max_memory_mb,
          cpuPercent,
          ioMbPerSecond: limits.io_mb_per_second,
          disk: dataDir,
        },
      },
      init: {
        ...{ facts, entry, replaces: this.#replaces, audited },
        proxied: typeof this.#network === "object",
        roomBytes: memory.roomBytes,
      },
      startTimeoutMs: limits.start_seconds * 1000,
      memoryLimitMb: resources.max_memory_mb,
      channelBytes: memory.channelBytes,
      sampler,
      reaper,
      port,
      log: (level, message, fields) => {
        const characters = fields === undefined ? message.length : message.length + JSON.stringify(fields).length;
        if (this.#log.take(characters)) logger[level]({ fields }, message);
      },
      onLine: (stream, line) => {
        if (this.#log.take(line.length)) logger.info({ stream }, line);
      },
      ...(audited && { onUsed: (use) => observer.used(use) }),
      onDropped: (reason) => observer.dropped(reason),
      late,
    });
  }

  #giveUp(): void {
    for (const seat of this.#seats) seat.giveUp();
    this.#disk[Symbol.dispose]();
  }
}

const megabytes = (bytes: number): number => Math.round((bytes / MEGABYTE) * 10) / 10;
