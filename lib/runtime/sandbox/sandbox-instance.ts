import type { Integration } from "../../contract/files/integration.ts";
import type { HealthReport } from "../../sdk/definition.ts";
import { settledWithin, within } from "../../support/within.ts";
import type { GuestFacts } from "../guest/context.ts";
import { messageOf, RuntimeFault } from "../guest/fault.ts";
import type { CallFacts, InstanceDescription, InstanceOptions, PluginInstance } from "../lifecycle/instance.ts";
import { LogBudget } from "../observability/log-budget.ts";
import { DiskLimit } from "./disk-limit.ts";
import type { SandboxUser } from "./folder-scan.ts";
import { type Inspect, sandboxLaunch } from "./launch.ts";
import type { MemorySampler } from "./memory-sampler.ts";
import type { Reaper } from "./reaper.ts";
import { RestartPolicy } from "./restart-policy.ts";
import { type ExitReason, SandboxProcess } from "./sandbox-process.ts";
import { prepareWorkspace, type Workspace } from "./workspace.ts";

const MEGABYTE = 1024 * 1024;
/** How long a call waits for a restart, on top of its own time. */
const RESTART_MARGIN_MS = 5000;

/** How long a call may be held at a breakpoint. */
const DEBUGGING_MS = 24 * 60 * 60 * 1000;

/** What all sandboxes of a runtime share. */
export interface SandboxSetting {
  limits: Integration["plugins"]["sandbox"];
  networkGranted: boolean;
  /** Where a debugger may attach to the plugin's process; its time-outs are off then. */
  inspect: Inspect | undefined;
  sampler: MemorySampler;
  reaper: Reaper;
  databases: string[];
  extensions: string[];
}

/** A sandboxed plugin: one process that serves, kept alive within its limits, and older ones that finish what they began. */
export class SandboxInstance implements PluginInstance {
  readonly mode = "sandboxed";
  actions: ReadonlySet<string> = new Set();
  readonly #options: InstanceOptions;
  readonly #setting: SandboxSetting;
  readonly #workspace: Workspace;
  readonly #disk: DiskLimit;
  readonly #log: LogBudget;
  readonly #policy: RestartPolicy;
  #replaces: boolean;
  #current: SandboxProcess | undefined;
  /** The start of the next process, while there is no current one. */
  #starting: Promise<SandboxProcess> | undefined;
  readonly #retired = new Set<SandboxProcess>();
  #described: InstanceDescription["actions"] = new Map();
  #restarts = 0;
  #stopped = false;

  private constructor(options: InstanceOptions, setting: SandboxSetting, workspace: Workspace) {
    this.#options = options;
    this.#setting = setting;
    this.#workspace = workspace;
    this.#disk = new DiskLimit(workspace.writes, options.descriptor.resources.max_disk_mb, options.logger);
    this.#log = new LogBudget((lines) => options.logger.warn({ lines }, "lines of the plugin's output were dropped"));
    this.#policy = new RestartPolicy(setting.limits);
    this.#replaces = options.replaces;
  }

  /** Starts the plugin. @throws RuntimeFault with the reason that it cannot run */
  static async load(options: InstanceOptions, setting: SandboxSetting): Promise<SandboxInstance> {
    const workspace = await prepareWorkspace(options.location, options.descriptor, userOf(setting));
    const instance = new SandboxInstance(options, setting, workspace);
    instance.#adopt(await instance.#startProcess());
    instance.#replaces = false;
    instance.#disk.watch(
      () => instance.#processes.map(({ pid }) => pid),
      (fault) => {
        for (const process of instance.#processes) process.kill("disk_exceeded", fault.message);
      },
    );
    return instance;
  }

  get inFlight(): number {
    return this.#processes.reduce((count, { calls }) => count + calls.size, 0);
  }

  get #processes(): SandboxProcess[] {
    return this.#current ? [...this.#retired, this.#current] : [...this.#retired];
  }

  describe(): InstanceDescription {
    return { actions: this.#described, routes: [] };
  }

  facts(): { pid?: number; restarts: number; memory_mb?: number } {
    const process = this.#current;
    const residentBytes = process?.residentBytes ?? 0;
    return {
      restarts: this.#restarts,
      ...(process && { pid: process.pid }),
      ...(residentBytes > 0 && { memory_mb: Math.round((residentBytes / MEGABYTE) * 10) / 10 }),
    };
  }

  async call(action: string, payload: unknown, facts: CallFacts): Promise<string> {
    const { timeout_seconds } = this.#options.descriptor.resources;
    const timeoutMs = this.#setting.inspect ? DEBUGGING_MS : timeout_seconds * 1000;
    const text = JSON.stringify(payload);
    const process = this.#serving ?? (await this.#whenServing(timeoutMs + RESTART_MARGIN_MS));
    return process.call(action, text, { ...facts, timeoutMs, graceMs: this.#setting.limits.grace_ms });
  }

  async health(timeoutMs: number): Promise<Required<HealthReport>> {
    const restarting = { status: "degraded", message: "the plugin's process is being restarted" } as const;
    const process = this.#current;
    if (process?.alive !== true) return restarting;
    return process.health(timeoutMs).catch((error: unknown) => {
      if (process.alive) throw error;
      return restarting;
    });
  }

  deliver(event: string, payload: unknown, source: string): void {
    this.#current?.deliver(event, JSON.stringify(payload) ?? "null", source);
  }

  async drain(timeoutMs: number): Promise<void> {
    await settledWithin(Promise.all(this.#processes.map(({ calls }) => calls.drained())), timeoutMs);
  }

  async stop(): Promise<void> {
    this.#giveUp();
    const starting = await this.#starting?.catch(() => undefined);
    const { grace_ms } = this.#setting.limits;
    const processes = new Set([...this.#processes, ...(starting ? [starting] : [])]);
    await Promise.all([...processes].map((process) => process.stop(grace_ms)));
    this.#current = undefined;
  }

  /** The process that takes calls now: alive, and with no doubt about its loop. */
  get #serving(): SandboxProcess | undefined {
    const process = this.#current;
    return process?.alive === true && process.calls.suspicion === undefined ? process : undefined;
  }

  /** Waits for a restart, or for a doubtful process to answer. @throws RuntimeFault `timed_out` or `not_loaded` */
  async #whenServing(timeoutMs: number): Promise<SandboxProcess> {
    const deadline = performance.now() + timeoutMs;
    const late = () => new RuntimeFault("timed_out", "The plugin's process was not restarted in time.");
    for (;;) {
      if (this.#serving) return this.#serving;
      const { calls, exited } = this.#current ?? {};
      const change: Promise<unknown> | undefined = calls?.suspicion ?? exited ?? this.#starting?.catch(() => undefined);
      if (change === undefined) throw new RuntimeFault("not_loaded", "The plugin's process is not running.");
      await within(change, deadline - performance.now(), late);
    }
  }

  #startProcess(): Promise<SandboxProcess> {
    const { descriptor, entry, env, location } = this.#options;
    const { limits, networkGranted, reaper, sampler, databases, extensions } = this.#setting;
    const { reads, writes, dataDir } = this.#workspace;
    const { name, version, config, resources } = descriptor;
    const facts: GuestFacts = { name, version, config, env, dataDir, databases, extensions };
    const { port, logger, observer } = this.#options;
    return SandboxProcess.start({
      launch: sandboxLaunch({
        reads,
        writes,
        network: networkGranted,
        inspect: this.#setting.inspect,
        maxMemoryMb: resources.max_memory_mb,
        maxDiskMb: resources.max_disk_mb,
      }),
      cwd: location.folder,
      user: userOf(this.#setting),
      init: { facts, entry, replaces: this.#replaces },
      startTimeoutMs: limits.start_seconds * 1000,
      memoryLimitMb: resources.max_memory_mb,
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
      onDropped: (reason) => observer.dropped(reason),
      onStuck: (process, loopAnswers) => this.#replaceStuck(process, loopAnswers),
    });
  }

  #adopt(process: SandboxProcess): void {
    this.#current = process;
    this.actions = process.plugin.actions;
    this.#described = process.plugin.described;
    if (process.plugin.routes > 0) {
      this.#options.logger.warn("the routes of a sandboxed plugin are not served: only trusted plugins have routes");
    }
    void process.exited.then((reason) => {
      this.#retired.delete(process);
      if (this.#current !== process) return;
      this.#current = undefined;
      if (this.#stopped) return;
      this.#options.logger.error({ code: reason.code, pid: process.pid }, reason.message);
      this.#restart(reason);
    });
  }

  /** A cancelled call does not end. A loop that still answers finishes its other calls; one that does not is killed. */
  #replaceStuck(process: SandboxProcess, loopAnswers: boolean): void {
    if (!process.alive) return;
    if (!loopAnswers)
      return process.kill("plugin_crashed", "The plugin's process was ended: a call blocked its event loop.");
    if (this.#current !== process) return;
    this.#options.logger.warn({ pid: process.pid }, "a cancelled call has not ended: the plugin's process is replaced");
    this.#retired.add(process);
    this.#current = undefined;
    const { timeout_seconds } = this.#options.descriptor.resources;
    const timer = setTimeout(() => process.kill("timed_out", "The process was retired."), timeout_seconds * 1000);
    void process.exited.then(() => clearTimeout(timer));
    void process.calls.drained().then(() => process.stop(this.#setting.limits.grace_ms));
    this.#restart({ code: "timed_out", message: "A cancelled call did not end." });
  }

  #restart(reason: ExitReason): void {
    const delay = this.#policy.next();
    if (delay === undefined || reason.code === "disk_exceeded") {
      const exhausted = delay === undefined;
      const { max_restarts, restart_window_seconds } = this.#setting.limits;
      const message = exhausted
        ? `The plugin's process ended more than ${max_restarts} times in ${restart_window_seconds} s; at last: ${reason.message}`
        : reason.message;
      this.#giveUp();
      this.#options.observer.failed(exhausted ? "retries_exhausted" : reason.code, message);
      return;
    }
    const starting = this.#startAfter(delay);
    this.#starting = starting;
    starting.then(
      (process) => {
        this.#starting = undefined;
        if (this.#stopped) return;
        this.#restarts++;
        this.#options.observer.restarted();
        this.#adopt(process);
      },
      (error: unknown) => {
        this.#starting = undefined;
        if (this.#stopped) return;
        this.#options.logger.error({ err: error }, "the plugin's process could not be restarted");
        this.#restart({ code: error instanceof RuntimeFault ? error.code : "load_failed", message: messageOf(error) });
      },
    );
  }

  async #startAfter(delay: number): Promise<SandboxProcess> {
    await new Promise((resolve) => setTimeout(resolve, delay));
    if (this.#stopped) throw new RuntimeFault("not_loaded", "The plugin was unloaded.");
    return this.#startProcess();
  }

  #giveUp(): void {
    this.#stopped = true;
    this.#disk[Symbol.dispose]();
  }
}

/** Another user for sandboxes, when the runtime runs as root and was not told otherwise. */
function userOf({ limits }: SandboxSetting): SandboxUser | undefined {
  const isRoot = process.getuid?.() === 0;
  return isRoot && limits.change_user ? { uid: limits.uid, gid: limits.gid } : undefined;
}
