import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import type { RuntimeCode } from "../../contract/surfaces/runtime.ts";
import type { HealthReport } from "../../sdk/definition.ts";
import { settledWithin, within } from "../../support/within.ts";
import type { InitFrame } from "../guest/bootstrap.ts";
import { messageOf, RuntimeFault } from "../guest/fault.ts";
import type { Frame } from "../guest/frames.ts";
import { parseJson } from "../guest/json.ts";
import type { PluginLog, PluginPort } from "../guest/plugin-port.ts";
import type { CallFacts } from "../lifecycle/instance.ts";
import { Channel } from "./channel.ts";
import type { SandboxUser } from "./folder-scan.ts";
import type { Launch } from "./launch.ts";
import type { MemorySampler, Sampled } from "./memory-sampler.ts";
import { type CallLimits, OpenCalls } from "./open-calls.ts";
import { captureOutput } from "./output-capture.ts";
import { PluginRequests } from "./plugin-requests.ts";
import { readReady, type Ready } from "./ready-frame.ts";
import type { Reaper } from "./reaper.ts";

/** One process of one sandboxed plugin, from its start to its end. What comes out of it is hostile until checked. */

export interface ProcessOptions {
  launch: Launch;
  cwd: string;
  user: SandboxUser | undefined;
  init: InitFrame;
  startTimeoutMs: number;
  memoryLimitMb: number;
  sampler: MemorySampler;
  reaper: Reaper;
  port: PluginPort<CallFacts>;
  log: PluginLog;
  /** Takes a line of standard output or error. */
  onLine(stream: "stdout" | "stderr", line: string): void;
  /** A frame was dropped: `unknown_id`, `late`, `malformed`. */
  onDropped(reason: string): void;
  /** A cancelled call has not ended within its grace. */
  onStuck(process: SandboxProcess, loopAnswers: boolean): void;
}

export interface ExitReason {
  code: RuntimeCode;
  message: string;
}

const START_CODES: ReadonlySet<string> = new Set<RuntimeCode>([
  "load_failed",
  "permission_denied",
  "service_unavailable",
]);

/** How V8 ends a process whose heap is full. */
const HEAP_SIGNALS: ReadonlySet<NodeJS.Signals> = new Set(["SIGABRT", "SIGTRAP", "SIGILL"]);

/** In which a process that says it ends has to. */
const LAST_WORDS_MS = 1000;
/** How long frames of a process that has ended may still be on their way. */
const LAST_FRAMES_MS = 200;

const text = (value: unknown, maxCharacters: number): string =>
  (typeof value === "string" ? value : "").slice(0, maxCharacters);

export class SandboxProcess {
  /** Known once `start` has resolved. */
  plugin: Ready = { actions: new Set(), routes: 0, described: new Map() };
  readonly pid: number;
  readonly exited: Promise<ExitReason>;
  readonly calls: OpenCalls;
  readonly #sampled: Sampled;
  readonly #child: ChildProcess;
  readonly #channel: Channel;
  readonly #requests: PluginRequests;
  readonly #options: ProcessOptions;
  readonly #health = new Map<string, PromiseWithResolvers<Required<HealthReport>>>();
  #ready: PromiseWithResolvers<void> | undefined = Promise.withResolvers();
  #reason: ExitReason | undefined;
  /** Why it will have ended, if it does: what the process itself says of it. */
  #presumed: ExitReason | undefined;
  #over = false;

  private constructor(options: ProcessOptions, child: ChildProcess, pid: number) {
    this.#options = options;
    this.#child = child;
    this.pid = pid;
    this.#channel = new Channel(child.stdio[3] as Socket, {
      frame: (frame) => this.#handle(frame),
      dropped: (reason) => options.onDropped(reason),
      violated: (message) => this.kill("channel_violated", message),
    });
    this.calls = new OpenCalls(this.#channel, (loopAnswers) => {
      if (!this.#over) options.onStuck(this, loopAnswers);
    });
    this.#requests = new PluginRequests(this.#channel, this.calls, options.port);
    if (child.stdout) captureOutput(child.stdout, (line) => options.onLine("stdout", line));
    if (child.stderr) captureOutput(child.stderr, (line) => options.onLine("stderr", line));
    child.on("error", () => undefined);
    const megabytes = options.memoryLimitMb;
    this.#sampled = {
      pid,
      limitBytes: megabytes * 1024 * 1024,
      residentBytes: 0,
      onExceeded: () => this.kill("memory_exceeded", `The plugin's process used more than ${megabytes} MB of memory.`),
    };
    const unwatch = options.sampler.watch(this.#sampled);
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        options.reaper.remove(pid);
        unwatch();
        // A sandbox has no children that could hold the channel open.
        void this.#channel.ended(LAST_FRAMES_MS).then(() => resolve(this.#end(code, signal)));
      });
    });
  }

  /** Starts a process and waits until its plugin is loaded. @throws RuntimeFault with the reason that it is not */
  static async start(options: ProcessOptions): Promise<SandboxProcess> {
    const child = spawn(options.launch.file, options.launch.arguments, {
      stdio: ["ignore", "pipe", "pipe", "pipe"],
      // The plugin's variables come with the first frame: what is here shows in /proc, and others may have added to it.
      env: {},
      cwd: options.cwd,
      // A process group of its own: it is ended as a whole, and the terminal's signals do not reach it.
      detached: true,
      ...(options.user && { uid: options.user.uid, gid: options.user.gid }),
    });
    const { pid } = child;
    if (pid === undefined) {
      const error = await new Promise<Error>((resolve) => child.once("error", resolve));
      throw new RuntimeFault("sandbox_unavailable", `The sandbox's process cannot be started: ${error.message}`);
    }
    options.reaper.add(pid);
    const started = new SandboxProcess(options, child, pid);
    const ready = started.#ready as PromiseWithResolvers<void>;
    const { startTimeoutMs } = options;
    try {
      started.#send({ t: "init", ...options.init });
      await within(ready.promise, startTimeoutMs, () => {
        return new RuntimeFault("load_failed", `The plugin was not ready after ${startTimeoutMs} ms.`);
      });
      return started;
    } catch (error) {
      started.kill("load_failed", messageOf(error));
      await started.exited;
      throw error;
    }
  }

  get alive(): boolean {
    return !this.#over && this.#reason === undefined;
  }

  /** Resident memory, as last sampled. */
  get residentBytes(): number {
    return this.#sampled.residentBytes;
  }

  /**
   * Runs an action. After `timeoutMs` the caller gets `timed_out` and the plugin its abort; when the call has not ended
   * `graceMs` later, `onStuck` hears of it.
   */
  call(action: string, payload: string, facts: CallFacts & CallLimits): Promise<string> {
    return this.alive ? this.calls.open(action, payload, facts) : Promise.reject(this.#fault());
  }

  /** Resolves with the plugin's own report. @throws RuntimeFault `unhealthy` when none comes within `timeoutMs` */
  async health(timeoutMs: number): Promise<Required<HealthReport>> {
    const id = randomUUID();
    const report = Promise.withResolvers<Required<HealthReport>>();
    this.#health.set(id, report);
    this.#send({ t: "health", id });
    try {
      return await within(report.promise, timeoutMs, () => {
        const message = `The plugin did not answer its health check within ${timeoutMs / 1000} s.`;
        return new RuntimeFault("unhealthy", message);
      });
    } finally {
      this.#health.delete(id);
    }
  }

  deliver(event: string, payload: string, source: string): void {
    this.#send({ t: "event", event, source }, payload);
  }

  /** Lets the plugin unload; what has not left after `graceMs` milliseconds is killed. */
  async stop(graceMs: number): Promise<void> {
    if (this.alive) this.#send({ t: "stop" });
    if (!(await settledWithin(this.exited, graceMs))) this.kill("plugin_crashed", "The plugin was unloaded.");
    await this.exited;
  }

  /** Ends the process group at once; every open call fails with this reason. */
  kill(code: RuntimeCode, message: string): void {
    if (this.#over) return;
    this.#reason ??= { code, message };
    try {
      process.kill(-this.pid, "SIGKILL");
    } catch {
      // It had no group of its own yet, or is gone.
      this.#child.kill("SIGKILL");
    }
  }

  #send(header: Frame["header"], body?: string): void {
    if (!this.#over) this.#channel.send(header, body);
  }

  /** The process says that it ends. It may lie: then it is ended. */
  #presume(message: string): void {
    this.#presumed ??= { code: "plugin_crashed", message };
    setTimeout(() => this.kill("plugin_crashed", message), LAST_WORDS_MS).unref();
  }

  #handle(frame: Frame): void {
    if (this.#over) return;
    const { header } = frame;
    switch (header.t) {
      case "reply":
        if (!this.calls.reply(header, frame.body)) this.#channel.drop("unknown_id");
        return;
      case "request":
        return void this.#requests.answer(frame);
      case "cancelled":
        return this.calls.tookNote(String(header["id"]));
      case "log":
        return this.#log(frame);
      case "health":
        return this.#reported(header);
      case "ready":
        return this.#isReady(frame);
      case "failed": {
        const code = START_CODES.has(String(header["code"])) ? (header["code"] as RuntimeCode) : "load_failed";
        this.#ready?.reject(new RuntimeFault(code, text(header["message"], 4096)));
        return;
      }
      case "crash":
        return this.#presume(`The plugin failed: ${text(header["message"], 4096)}`);
      case "stopped":
        return this.#presume("The plugin was unloaded.");
      default:
        this.#channel.drop("malformed");
    }
  }

  #reported({ id, status, message }: Frame["header"]): void {
    const pending = this.#health.get(String(id));
    if (pending === undefined) return this.#channel.drop("unknown_id");
    const known = status === "healthy" || status === "degraded" ? status : "unhealthy";
    pending.resolve({ status: known, message: text(message, 1024) });
  }

  #isReady(frame: Frame): void {
    if (this.#ready === undefined) return this.#channel.drop("unknown_id");
    this.plugin = readReady(frame);
    this.#ready.resolve();
    this.#ready = undefined;
  }

  #log({ header, body }: Frame): void {
    if (this.#channel.isNoisy(body.length)) return;
    const { level } = header;
    const known = level === "debug" || level === "warn" || level === "error" ? level : "info";
    let fields: unknown;
    try {
      fields = body === "" || body.length > 64 * 1024 ? undefined : parseJson(body);
    } catch {
      return this.#channel.drop("malformed");
    }
    this.#options.log(known, text(header["message"], 8192), fields);
  }

  #fault(): RuntimeFault {
    const ended: ExitReason = { code: "plugin_crashed", message: "The plugin's process ended." };
    const { code, message } = this.#reason ?? ended;
    return new RuntimeFault(code, message);
  }

  #end(code: number | null, signal: NodeJS.Signals | null): ExitReason {
    this.#over = true;
    const how = signal === null ? `exit code ${code ?? "unknown"}` : signal;
    const outOfMemory = { code: "memory_exceeded", message: "The plugin exceeded its heap limit." } as const;
    const ended = { code: "plugin_crashed", message: `The plugin's process ended (${how}).` } as const;
    this.#reason ??= signal !== null && HEAP_SIGNALS.has(signal) ? outOfMemory : (this.#presumed ?? ended);
    this.calls.abandon(() => this.#fault());
    for (const { reject } of this.#health.values()) reject(this.#fault());
    this.#ready?.reject(this.#fault());
    return this.#reason;
  }
}
