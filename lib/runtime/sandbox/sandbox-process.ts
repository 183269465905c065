import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { Socket } from "node:net";
import type { RuntimeCode } from "../../contract/surfaces/runtime.ts";
import type { HealthReport } from "../../sdk/definition.ts";
import type { ControlGroup } from "../../support/control-groups/control-group.ts";
import { settledWithin, within } from "../../support/within.ts";
import type { CallFacts } from "../base/instance.ts";
import { messageOf, RuntimeFault } from "../guest/fault.ts";
import type { Frame } from "../guest/frames.ts";
import { signalOf, spawnEnclosed } from "../walls/spawn.ts";
import { Channel } from "./channel.ts";
import { type ExitReason, memoryExceeded, reasonOfEnd } from "./exit-reason.ts";
import { MAX_ID_CHARACTERS, recordOf, startFault, text, useOf } from "./frame-fields.ts";
import type { Sampled } from "./memory-sampler.ts";
import type { CallLimits } from "./open-call.ts";
import { OpenCalls } from "./open-calls.ts";
import { captureOutput } from "./output-capture.ts";
import { PluginRequests } from "./plugin-requests.ts";
import type { ProcessOptions } from "./process-options.ts";
import { ProcessPlace } from "./process-place.ts";
import { readReady, type Ready } from "./ready-frame.ts";
import type { RouteExchange } from "./route-exchange.ts";

/** One process of one sandboxed plugin, from its start to its end. What comes out of it is hostile until checked. */

/**
 * Share of the room for payloads beyond which callers are blamed for an end by memory. The room is an eighth of the
 * memory, and nested empty lists take fifty times the bytes of their text.
 */
const CALLERS_PART = 1 / 16;
/** Grace period after a process announces its exit, in milliseconds. */
const LAST_WORDS_MS = 1000;
/** Time for which frames of an ended process may still arrive, in milliseconds. */
const LAST_FRAMES_MS = 2000;

export class SandboxProcess {
  /** Description of the plugin, known once `start` has resolved. */
  plugin: Ready = { actions: new Set(), routes: [], described: new Map() };
  readonly exited: Promise<ExitReason>;
  readonly calls: OpenCalls;
  readonly #place: ProcessPlace;
  readonly #sampled: Sampled;
  readonly #group: ControlGroup | undefined;
  readonly #channel: Channel;
  readonly #requests: PluginRequests;
  readonly #options: ProcessOptions;
  readonly #health = new Map<string, PromiseWithResolvers<Required<HealthReport>>>();
  #ready: PromiseWithResolvers<void> | undefined = Promise.withResolvers();
  #reason: ExitReason | undefined;
  /** The process's own account of why it ended, if it gave one. */
  #presumed: ExitReason | undefined;
  #over = false;

  private constructor(options: ProcessOptions, child: ChildProcess, leader: number, group: ControlGroup | undefined) {
    this.#options = options;
    this.#group = group;
    this.#channel = new Channel(child.stdio[3] as Socket, {
      frame: (frame) => this.#handle(frame),
      isBusy: () => this.calls.size > 1,
      dropped: (reason) => options.onDropped(reason),
      violated: (message) => this.kill("channel_violated", message),
    });
    this.calls = new OpenCalls(this.#channel, options.channelBytes, {
      silent: (isAhead) => {
        if (!this.#over) options.late.silent(this, isAhead);
      },
      stuck: (loopAnswers) => {
        if (!this.#over) options.late.stuck(this, loopAnswers);
      },
    });
    this.#requests = new PluginRequests(this.#channel, this.calls, options.port);
    if (child.stdout) captureOutput(child.stdout, (line) => options.onLine("stdout", line));
    if (child.stderr) captureOutput(child.stderr, (line) => options.onLine("stderr", line));
    const megabytes = options.memoryLimitMb;
    this.#sampled = {
      pid: leader,
      limitBytes: megabytes * 1024 * 1024,
      residentBytes: 0,
      onExceeded: () => {
        const { code, message } = memoryExceeded(megabytes);
        this.kill(code, message);
      },
      onNear: () => this.#send({ t: "pressure" }),
    };
    const { launch, reaper } = options;
    this.#place = new ProcessPlace({ launch, reaper, child, leader, group, sampled: this.#sampled });
    this.#place.known.catch(({ code, message }: RuntimeFault) => (this.#reason ??= { code, message }));
    const unwatch = options.sampler.watch(this.#sampled);
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        unwatch();
        // A sandbox has no children that could hold the channel open.
        void Promise.all([this.#place.left(), this.#channel.ended(LAST_FRAMES_MS)]).then(() =>
          resolve(this.#end(code, signal)),
        );
      });
    });
  }

  /** Starts a process and waits until its plugin is loaded. @throws RuntimeFault with the reason that it is not */
  static async start(options: ProcessOptions): Promise<SandboxProcess> {
    const { launch, cwd, user, bounds } = options;
    let group: ControlGroup | undefined;
    let child: ChildProcess;
    let pid: number;
    try {
      group = await bounds?.groups.create(bounds.limits);
      child = spawnEnclosed(launch, { cwd, user, group });
      pid = child.pid ?? (await Promise.reject<number>((await once(child, "error"))[0] as Error));
    } catch (error) {
      group?.end();
      throw new RuntimeFault("sandbox_unavailable", `The sandbox's process cannot be started: ${messageOf(error)}`);
    }
    const started = new SandboxProcess(options, child, pid, group);
    const ready = started.#ready as PromiseWithResolvers<void>;
    const { startTimeoutMs } = options;
    try {
      started.#send({ t: "init", ...options.init });
      await within(Promise.all([ready.promise, started.#place.known]), startTimeoutMs, () => {
        return new RuntimeFault("load_failed", `The plugin was not ready after ${startTimeoutMs} ms.`);
      });
      options.sampler.measureStarted(started.#sampled);
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

  /** Id of the plugin's process on this host. */
  get pid(): number {
    return this.#sampled.pid;
  }

  /** Grows when the process has worked; undefined where that cannot be seen. */
  get activity(): number | undefined {
    return this.#sampled.activity;
  }

  /** Resident memory, as last sampled. */
  get residentBytes(): number {
    return this.#sampled.residentBytes;
  }

  /**
   * Runs an action. After `timeoutMs` the caller gets `timed_out` and the plugin its abort; if the loop does not
   * acknowledge that, or the call has not ended `graceMs` later, `late` is called.
   */
  call(action: string, payload: string, facts: CallFacts & CallLimits): Promise<string> {
    return this.alive ? this.calls.open(action, payload, facts) : Promise.reject(this.#fault());
  }

  /** Passes a request to a route of the plugin. */
  serve(exchange: RouteExchange, facts: CallFacts & CallLimits): void {
    if (this.alive) exchange.begin(this.calls, this.#channel, facts);
    else exchange.reject(this.#fault());
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

  /** Delivers an event. If too many are unread, drops and counts it. */
  deliver(event: string, payload: string, source: string): void {
    if (this.#channel.isCrowded) return this.#channel.dropBlameless("unread");
    this.#send({ t: "event", event, source }, payload);
  }

  /** Lets the plugin unload, and kills it after `graceMs` milliseconds. */
  async stop(graceMs: number): Promise<void> {
    if (this.alive) this.#send({ t: "stop" });
    if (!(await settledWithin(this.exited, graceMs))) this.kill("plugin_crashed", "The plugin was unloaded.");
    await this.exited;
  }

  /** Kills the process group at once; every open call fails with this reason. */
  kill(code: RuntimeCode, message: string): void {
    if (this.#over) return;
    this.#reason ??= { code, message };
    this.#place.kill();
  }

  #send(header: Frame["header"], body?: string): void {
    if (!this.#over) this.#channel.send(header, body);
  }

  /** Notes that the process announces its exit. It may lie: then it is ended. */
  #presume(message: string): void {
    this.#presumed ??= { code: "plugin_crashed", message };
    setTimeout(() => this.kill("plugin_crashed", message), LAST_WORDS_MS).unref();
  }

  #handle(frame: Frame): void {
    if (this.#over) return;
    const { header } = frame;
    switch (header.t) {
      case "reply":
        if (!this.calls.reply(frame)) this.#channel.drop("unknown_id");
        return;
      case "head":
      case "data":
      case "taken":
        if (!this.calls.take(frame)) this.#channel.drop("unknown_id");
        return;
      case "request":
        return void this.#requests.answer(frame);
      case "begun":
        if (!this.calls.begun(text(header["id"], MAX_ID_CHARACTERS))) this.#channel.drop("unknown_id");
        return;
      case "pong":
        if (!this.calls.loop.answered()) this.#channel.drop("unknown_id");
        return;
      case "cancelled":
        return this.calls.tookNote(text(header["id"], MAX_ID_CHARACTERS));
      case "log":
        return this.#log(frame);
      case "health":
        return this.#reported(header);
      case "ready":
        return this.#isReady(frame);
      case "failed":
        return this.#ready?.reject(startFault(header));
      case "used":
        return this.#options.onUsed ? this.#options.onUsed(useOf(header)) : this.#channel.drop("malformed");
      case "crash":
        return this.#presume(`The plugin failed: ${text(header["message"], 4096)}`);
      case "stopped":
        return this.#presume("The plugin was unloaded.");
      default:
        this.#channel.drop("malformed");
    }
  }

  #reported({ id, status, message }: Frame["header"]): void {
    const pending = this.#health.get(text(id, MAX_ID_CHARACTERS));
    if (pending === undefined) return this.#channel.drop("unknown_id");
    const known = status === "healthy" || status === "degraded" ? status : "unhealthy";
    pending.resolve({ status: known, message: text(message, 1024) });
  }

  #isReady(frame: Frame): void {
    if (this.#ready === undefined) return this.#channel.drop("unknown_id");
    try {
      this.plugin = readReady(frame);
      this.#ready.resolve();
    } catch (error) {
      this.#ready.reject(error);
    }
    this.#ready = undefined;
  }

  #log(frame: Frame): void {
    if (this.#channel.isNoisy(frame.body.length)) return;
    const record = recordOf(frame);
    if (record === undefined) return this.#channel.drop("malformed");
    this.#options.log(record.level, record.message, record.fields);
  }

  #fault(): RuntimeFault {
    const ended: ExitReason = { code: "plugin_crashed", message: "The plugin's process ended." };
    const { code, message } = this.#reason ?? ended;
    return new RuntimeFault(code, message);
  }

  #end(code: number | null, signal: NodeJS.Signals | null): ExitReason {
    this.#over = true;
    const { launch, memoryLimitMb } = this.#options;
    if (this.#group?.outOfMemory === true) this.#reason ??= memoryExceeded(memoryLimitMb);
    this.#group?.end();
    const isFirst = "process" in launch && launch.process === "child";
    this.#reason ??= reasonOfEnd(signal ?? (isFirst ? signalOf(code) : null) ?? code, isFirst, this.#presumed);
    if (this.#reason.code === "memory_exceeded")
      this.#reason.byCallers = this.calls.sentBytes >= this.#options.channelBytes * CALLERS_PART;
    this.calls.abandon(() => this.#fault());
    for (const { reject } of this.#health.values()) reject(this.#fault());
    this.#ready?.reject(this.#fault());
    return this.#reason;
  }
}
