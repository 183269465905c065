import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { RUNTIME_CODES, type RuntimeCode } from "../../contract/surfaces/runtime.ts";
import type { HealthReport } from "../../sdk/definition.ts";
import type { InitFrame } from "../guest/bootstrap.ts";
import type { LogLevel } from "../guest/context.ts";
import { messageOf, RuntimeFault } from "../guest/fault.ts";
import { encodeFrame, type Frame, FrameError, FrameReader } from "../guest/frames.ts";
import { parseJson } from "../guest/json.ts";
import type { CallFacts } from "../lifecycle/instance.ts";
import type { SandboxUser } from "./folder-scan.ts";
import type { Launch } from "./launch.ts";
import type { MemorySampler, Sampled } from "./memory-sampler.ts";
import { type CallLimits, OpenCalls } from "./open-calls.ts";
import { captureOutput, type OutputSink } from "./output-capture.ts";
import type { Reaper } from "./reaper.ts";

/** One process of one sandboxed plugin, from its start to its end. What comes out of it is hostile until checked. */

export interface ProcessOptions {
  launch: Launch;
  cwd: string;
  user: SandboxUser | undefined;
  init: InitFrame;
  /** Milliseconds. */
  startTimeout: number;
  memoryLimitMb: number;
  sampler: MemorySampler;
  reaper: Reaper;
  host: ProcessHost;
}

/** What a process asks of, and tells, the runtime. */
export interface ProcessHost {
  /** @param requestId of the call on whose behalf the plugin asks */
  request(target: string, method: string, parameters: unknown[], call: CallFacts | undefined): Promise<string>;
  log(level: LogLevel, message: string, fields: unknown): void;
  output(stream: "stdout" | "stderr"): OutputSink;
  /** A frame was dropped: `unknown_id`, `late`, `malformed`. */
  dropped(reason: string): void;
  /** A cancelled call has not ended within its grace. */
  stuck(process: SandboxProcess, loopAnswers: boolean): void;
}

interface PendingHealth {
  resolve: (report: Required<HealthReport>) => void;
  reject: (fault: RuntimeFault) => void;
  timer: NodeJS.Timeout;
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

/** Requests to services that one process may have open. */
const MAXIMUM_REQUESTS = 256;
/** Bytes that may wait for a process that does not read its channel. */
const MAXIMUM_BACKLOG = 64 * 1024 * 1024;
/** Milliseconds in which a process that says it ends has to. */
const LAST_WORDS = 1000;
/** Forged, unknown and malformed frames, and log records, per second; a process that sends more is ended. */
const MAXIMUM_NOISE = 5000;

const text = (value: unknown, length: number): string => (typeof value === "string" ? value : "").slice(0, length);

export class SandboxProcess {
  /** The plugin's actions, known once `started` has resolved. */
  actions: ReadonlySet<string> = new Set();
  routes = 0;
  readonly pid: number;
  readonly exited: Promise<ExitReason>;
  /** Resident bytes, as last sampled. */
  get resident(): number {
    return this.#sampled.resident;
  }
  readonly #sampled: Sampled;
  readonly #child: ChildProcess;
  readonly #channel: Socket;
  readonly #options: ProcessOptions;
  readonly #reader = new FrameReader();
  readonly #calls: OpenCalls;
  readonly #health = new Map<string, PendingHealth>();
  #requests = 0;
  #noise = 0;
  #noiseSecond = 0;
  #ready: PromiseWithResolvers<void> | undefined = Promise.withResolvers();
  #reason: ExitReason | undefined;
  /** Why it will have ended, if it does: what the process itself says of it. */
  #presumed: ExitReason | undefined;
  #over = false;

  private constructor(options: ProcessOptions, child: ChildProcess, pid: number) {
    this.#options = options;
    this.#child = child;
    this.pid = pid;
    this.#calls = new OpenCalls({
      send: (header, body) => this.#send(header, body),
      dropped: (reason) => options.host.dropped(reason),
      stuck: (loopAnswers) => {
        if (!this.#over) options.host.stuck(this, loopAnswers);
      },
    });
    this.#channel = child.stdio[3] as Socket;
    this.#channel.on("data", (chunk: Buffer) => this.#receive(chunk));
    this.#channel.on("error", () => undefined);
    if (child.stdout) captureOutput(child.stdout, options.host.output("stdout"));
    if (child.stderr) captureOutput(child.stderr, options.host.output("stderr"));
    child.on("error", () => undefined);
    const megabytes = options.memoryLimitMb;
    this.#sampled = {
      pid,
      limit: megabytes * 1024 * 1024,
      resident: 0,
      onExceeded: () => this.kill("memory_exceeded", `The plugin's process used more than ${megabytes} MB of memory.`),
    };
    const unwatch = options.sampler.watch(this.#sampled);
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        options.reaper.remove(pid);
        unwatch();
        // Last words may still be on their way; a sandbox has no children that could hold the channel open.
        const timer = setTimeout(() => this.#channel.destroy(), 200);
        const end = (): void => {
          clearTimeout(timer);
          resolve(this.#end(code, signal));
        };
        if (this.#channel.closed) end();
        else this.#channel.once("close", end);
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
    const timer = setTimeout(
      () => started.kill("load_failed", `The plugin was not ready after ${options.startTimeout} ms.`),
      options.startTimeout,
    );
    try {
      started.#send({ t: "init", ...options.init });
      await ready.promise;
      return started;
    } catch (error) {
      started.kill("load_failed", messageOf(error));
      await started.exited;
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  get inFlight(): number {
    return this.#calls.size;
  }

  get alive(): boolean {
    return !this.#over && this.#reason === undefined;
  }

  /** See {@link OpenCalls.suspicion}. */
  get suspicion(): Promise<void> | undefined {
    return this.#calls.suspicion;
  }

  /**
   * Runs an action. After `timeout` milliseconds the caller gets `timed_out` and the plugin its abort; when the call has not ended
   * `grace` milliseconds later, the host hears of it.
   */
  call(action: string, payload: string, facts: CallFacts & CallLimits): Promise<string> {
    return this.alive ? this.#calls.open(action, payload, facts) : Promise.reject(this.#fault());
  }

  /** Resolves with the plugin's own report; rejects when nothing comes within `timeout` milliseconds. */
  health(timeout: number): Promise<Required<HealthReport>> {
    const id = randomUUID();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#health.delete(id);
        reject(new RuntimeFault("unhealthy", `The plugin did not answer its health check within ${timeout / 1000} s.`));
      }, timeout);
      this.#health.set(id, { resolve, reject, timer });
      this.#send({ t: "health", id });
    });
  }

  deliver(event: string, payload: string, source: string): void {
    this.#send({ t: "event", event, source }, payload);
  }

  /** Resolves when no call is in flight any more. */
  drained(): Promise<void> {
    return this.#calls.drained();
  }

  /** Lets the plugin unload; what has not left after `grace` milliseconds is killed. */
  async stop(grace: number): Promise<void> {
    if (this.alive) this.#send({ t: "stop" });
    const timer = setTimeout(() => this.kill("plugin_crashed", "The plugin was unloaded."), grace);
    await this.exited;
    clearTimeout(timer);
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

  #send(header: { t: string; [key: string]: unknown }, body?: string): void {
    if (this.#over || !this.#channel.writable) return;
    this.#channel.write(encodeFrame(header, body));
    if (this.#channel.writableLength > MAXIMUM_BACKLOG) {
      this.kill("channel_violated", "The plugin's process does not read its channel.");
    }
  }

  /** The process says that it ends. It may lie: then it is ended. */
  #presume(message: string): void {
    this.#presumed ??= { code: "plugin_crashed", message };
    setTimeout(() => this.kill("plugin_crashed", message), LAST_WORDS).unref();
  }

  #receive(chunk: Buffer): void {
    if (this.#over) return;
    try {
      for (const frame of this.#reader.push(chunk)) this.#handle(frame);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.#options.host.dropped("malformed");
      this.kill("channel_violated", `The plugin's process broke its channel: ${error.message}.`);
    }
  }

  #handle(frame: Frame): void {
    const { header } = frame;
    switch (header.t) {
      case "reply":
        if (!this.#calls.reply(header, frame.body)) this.#drop("unknown_id");
        return;
      case "request":
        return void this.#request(frame);
      case "cancelled":
        return this.#calls.tookNote(String(header["id"]));
      case "log":
        return this.#log(frame);
      case "health": {
        const pending = this.#health.get(String(header["id"]));
        if (pending === undefined) return this.#drop("unknown_id");
        this.#health.delete(String(header["id"]));
        clearTimeout(pending.timer);
        const { status } = header;
        const known = status === "healthy" || status === "degraded" ? status : "unhealthy";
        return pending.resolve({ status: known, message: text(header["message"], 1024) });
      }
      case "ready":
        return this.#isReady(header["actions"], header["routes"]);
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
        this.#drop("malformed");
    }
  }

  #isReady(actions: unknown, routes: unknown): void {
    if (this.#ready === undefined) return this.#drop("unknown_id");
    const names = Array.isArray(actions) ? actions.filter((name) => typeof name === "string") : [];
    this.actions = new Set(names.slice(0, 10_000));
    this.routes = typeof routes === "number" ? routes : 0;
    this.#ready.resolve();
    this.#ready = undefined;
  }

  async #request({ header, body }: Frame): Promise<void> {
    const id = Number(header["id"]);
    const call = this.#calls.find(header["call"]);
    const answer = (fault: RuntimeFault): void =>
      this.#send({ t: "answer", id, ok: false, code: fault.code, message: fault.message });
    if (this.#requests >= MAXIMUM_REQUESTS) {
      if (this.#isNoisy()) return;
      return answer(new RuntimeFault("service_unavailable", `${MAXIMUM_REQUESTS} requests are open already.`));
    }
    this.#requests++;
    try {
      const parameters = parseJson(body);
      if (!Array.isArray(parameters)) throw new RuntimeFault("bad_request", "The parameters are not a list.");
      const { host } = this.#options;
      const result = await host.request(text(header["target"], 512), text(header["method"], 256), parameters, call);
      this.#send({ t: "answer", id, ok: true }, result);
    } catch (error) {
      answer(error instanceof RuntimeFault ? error : new RuntimeFault("service_unavailable", messageOf(error)));
    } finally {
      this.#requests--;
    }
  }

  #log({ header, body }: Frame): void {
    if (this.#isNoisy()) return;
    const { level } = header;
    const known = level === "debug" || level === "warn" || level === "error" ? level : "info";
    let fields: unknown;
    try {
      fields = body === "" || body.length > 64 * 1024 ? undefined : parseJson(body);
    } catch {
      return this.#drop("malformed");
    }
    this.#options.host.log(known, text(header["message"], 8192), fields);
  }

  #drop(reason: string): void {
    this.#options.host.dropped(reason);
    this.#isNoisy();
  }

  /** Counts noise; too much of it in one second ends the process. */
  #isNoisy(): boolean {
    const second = Math.floor(performance.now() / 1000);
    if (second !== this.#noiseSecond) {
      this.#noiseSecond = second;
      this.#noise = 0;
    }
    if (++this.#noise <= MAXIMUM_NOISE) return false;
    this.kill("channel_violated", `The plugin's process sent more than ${MAXIMUM_NOISE} needless frames in a second.`);
    return true;
  }

  #fault(): RuntimeFault {
    const { code, message } = this.#reason ?? {
      code: "plugin_crashed" as const,
      message: "The plugin's process ended.",
    };
    return new RuntimeFault(code in RUNTIME_CODES ? code : "plugin_crashed", message);
  }

  #end(code: number | null, signal: NodeJS.Signals | null): ExitReason {
    this.#over = true;
    const how = signal === null ? `exit code ${code ?? "unknown"}` : signal;
    const outOfMemory = { code: "memory_exceeded", message: "The plugin exceeded its heap limit." } as const;
    const ended = { code: "plugin_crashed", message: `The plugin's process ended (${how}).` } as const;
    this.#reason ??= signal !== null && HEAP_SIGNALS.has(signal) ? outOfMemory : (this.#presumed ?? ended);
    this.#calls.abandon(() => this.#fault());
    for (const { reject, timer } of this.#health.values()) {
      clearTimeout(timer);
      reject(this.#fault());
    }
    this.#health.clear();
    this.#ready?.reject(this.#fault());
    this.#channel.destroy();
    return this.#reason;
  }
}
