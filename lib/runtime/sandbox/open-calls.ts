import { randomUUID } from "node:crypto";
import { traceparentOf } from "../../support/trace-context.ts";
import type { CallFacts } from "../base/instance.ts";
import { RuntimeFault, UnreadFault } from "../guest/fault.ts";
import type { Frame } from "../guest/frames.ts";
import { cleanJson } from "../guest/json.ts";
import type { Channel } from "./channel.ts";
import { MAX_ID_CHARACTERS, text } from "./frame-fields.ts";
import { LoopDoubt, NOTE_MS } from "./loop-doubt.ts";
import type { CallLimits, ExchangeControl, LateCalls, OpenCall, OpenExchange } from "./open-call.ts";
import { PayloadRoom } from "./payload-room.ts";
import { replyFault } from "./reply-fault.ts";

/** Most open calls of one process. */
const MAX_CALLS = 1024;
/** Silence of a busy process after which it is asked to confirm the beginning of a call, in milliseconds. */
const QUIET_MS = 5;
/**
 * Milliseconds before a call's time is over at which the loop is asked whether it goes on: a process starts meanwhile.
 * Shorter calls have no such time.
 */
const AHEAD_MS = 250;
/** Bytes of payloads that wait for room in the process, from which on no more are taken. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** Seconds after which a caller whose payload found no room may retry. */
const ROOM_SECONDS = 1;

/**
 * Open calls of one process, matched with its replies by id. A call whose time is over is answered at once and tracked
 * separately, so that its late reply reaches nobody. Payloads for which the process has no room wait here; those not
 * begun when it ends go to another process.
 */
export class OpenCalls {
  readonly #channel: Channel;
  readonly #late: LateCalls;
  readonly #room: PayloadRoom;
  /** Whether the process's loop may be blocked. */
  readonly loop = new LoopDoubt();
  readonly #calls = new Map<string, OpenCall>();
  /** Time when the process last said something about a call. */
  #heardAt = 0;
  /** Cancelled calls, until they end: id → whether the plugin's loop has acknowledged. */
  readonly #cancelled = new Map<string, boolean>();
  #over = false;
  #idle: PromiseWithResolvers<void> | undefined;

  /** @param room payloads that the process may have at once, in bytes */
  constructor(channel: Channel, room: number, late: LateCalls) {
    this.#channel = channel;
    this.#room = new PayloadRoom(room);
    this.#late = late;
  }

  get size(): number {
    return this.#calls.size;
  }

  /** Bytes of the payloads that the process has, of calls that have not ended. */
  get sentBytes(): number {
    return this.#room.sentBytes;
  }

  find(id: unknown): OpenCall | undefined {
    return typeof id === "string" ? this.#calls.get(id) : undefined;
  }

  /** Resolves when none is open any more. */
  async drained(): Promise<void> {
    if (this.#calls.size === 0) return;
    await (this.#idle ??= Promise.withResolvers()).promise;
  }

  /** Requires room for another call. @throws RuntimeFault `rate_limited` */
  #admit(size = 0): void {
    const refuse = (message: string): never => {
      throw new RuntimeFault("rate_limited", message, { retryAfterSeconds: ROOM_SECONDS });
    };
    // Calls that were given up still run in the plugin.
    if (this.#calls.size + this.#cancelled.size >= MAX_CALLS) refuse(`${MAX_CALLS} calls are in flight already.`);
    if (this.#channel.isCrowded || this.#room.waitingBytes + size > MAX_WAITING_BYTES)
      refuse("The plugin has not read the calls that it was sent before.");
  }

  /**
   * Opens a call. @throws RuntimeFault, as the promise's rejection: an UnreadFault when another process may run the
   * call
   */
  open(
    action: string,
    payload: string,
    { requestId, depth, trace, ...limits }: CallFacts & CallLimits,
  ): Promise<string> {
    // Unguessable: a plugin must not be able to answer a call that it was not given.
    const id = randomUUID();
    const size = payload.length;
    return new Promise((resolve, reject) => {
      this.#admit(size);
      const replied = ({ body }: Frame): void => {
        try {
          resolve(cleanJson(body));
        } catch {
          this.#channel.drop("malformed");
          reject(new RuntimeFault("result_not_serialisable", "The plugin's reply is not JSON."));
        }
      };
      const late = `The action ${action} took longer than ${limits.timeoutMs / 1000} s.`;
      const timer = limits.timeoutMs < 2 * AHEAD_MS ? this.#deadline(id, late, limits) : this.#ahead(id, late, limits);
      const call: OpenCall = { replied, reject, timer, requestId, depth, trace, progress: "waiting" };
      const send = (): void => {
        const isQuiet = this.#calls.size > 1 && performance.now() - this.#heardAt > QUIET_MS;
        call.progress = isQuiet ? "asked" : "begun";
        const header = { t: "call", id, action, requestId, traceparent: trace && traceparentOf(trace) };
        this.#channel.send(isQuiet ? { ...header, ack: 1 } : header, payload);
      };
      this.#calls.set(id, call);
      this.#room.add(id, size, send);
    });
  }

  /**
   * Opens an exchange with a route of the plugin. Its time runs while it is the plugin's turn.
   *
   * @throws RuntimeFault `rate_limited`, or `bad_request` for a request whose head is too large
   */
  exchange(
    header: Record<string, unknown>,
    bytes: Uint8Array,
    exchange: OpenExchange,
    { requestId, depth, trace, ...limits }: CallFacts & CallLimits,
  ): ExchangeControl {
    this.#admit();
    const id = randomUUID();
    try {
      const traceparent = trace && traceparentOf(trace);
      this.#channel.send({ ...header, t: "route", id, requestId, traceparent, b: 1 }, bytes);
    } catch (error) {
      throw new RuntimeFault("bad_request", `The request's head is too large: ${(error as Error).message}.`);
    }
    const late = `The plugin's route did not go on for ${limits.timeoutMs / 1000} s.`;
    let wasIts = true;
    const call: OpenCall = {
      replied: (frame) => exchange.replied(frame),
      reject: (fault) => exchange.reject(fault),
      take: (frame) => exchange.take(frame),
      ...{ timer: this.#deadline(id, late, limits), requestId, depth, trace, progress: "begun" },
    };
    this.#calls.set(id, call);
    return {
      id,
      pluginsTurn: (isIts) => {
        if (!this.#calls.has(id)) return;
        if (!isIts) clearTimeout(call.timer);
        else if (wasIts) call.timer.refresh();
        else call.timer = this.#deadline(id, late, limits);
        wasIts = isIts;
      },
      giveUp: () => {
        if (this.#close(id) === undefined) return;
        // The plugin is not to blame for a client that has disconnected, and gets the time of a call to notice.
        this.#cancelled.set(id, true);
        this.#channel.send({ t: "cancel", id, gone: true });
        this.#forget(id, limits.timeoutMs + limits.graceMs);
      },
    };
  }

  /** Takes a frame of an exchange. Returns false for an unknown one. */
  take(frame: Frame): boolean {
    const id = text(frame.header["id"], MAX_ID_CHARACTERS);
    const take = this.#calls.get(id)?.take;
    if (take !== undefined) {
      take(frame);
      return true;
    }
    if (!this.#cancelled.has(id)) return false;
    this.#channel.dropBlameless("late");
    this.#channel.isNoisy(frame.bytes?.length);
    return true;
  }

  /** Takes a reply. Returns false when no call waits for it: it is forged, or repeated. */
  reply(frame: Frame): boolean {
    const { header } = frame;
    const id = text(header["id"], MAX_ID_CHARACTERS);
    this.#heardAt = performance.now();
    if (this.#cancelled.has(id)) {
      this.tookNote(id);
      this.#cancelled.delete(id);
      this.#channel.dropBlameless("late");
      return true;
    }
    const call = this.#close(id);
    if (call === undefined) return false;
    if (header["ok"] === true) call.replied(frame);
    else call.reject(replyFault(header, call.take === undefined ? "action" : "route"));
    return true;
  }

  /** Notes that the process begins a call. Returns false when it was not asked to say so. */
  begun(id: string): boolean {
    this.#heardAt = performance.now();
    const call = this.#calls.get(id);
    if (call?.progress !== "asked") return this.#cancelled.has(id);
    call.progress = "begun";
    return true;
  }

  /** Notes that the loop has acknowledged a cancellation. */
  tookNote(id: string): void {
    if (this.#cancelled.has(id)) this.#cancelled.set(id, true);
    if ([...this.#cancelled.values()].includes(false)) return;
    this.loop.clear();
    this.#room.sendWaiting();
  }

  /** Fails the calls that were not sent, so that another process runs them. */
  handBack(): void {
    for (const id of this.#room.waiting)
      this.#close(id)?.reject(new UnreadFault("plugin_crashed", "The plugin's process was replaced."));
  }

  /** Fails every open call: the process has ended. */
  abandon(fault: () => RuntimeFault): void {
    this.#over = true;
    for (const id of [...this.#calls.keys()]) {
      const call = this.#close(id)!;
      const { code, message } = fault();
      call.reject(call.progress === "begun" ? fault() : new UnreadFault(code, message));
    }
    this.#cancelled.clear();
    this.loop.clear();
  }

  #close(id: string): OpenCall | undefined {
    const call = this.#calls.get(id);
    if (call === undefined) return undefined;
    clearTimeout(call.timer);
    this.#calls.delete(id);
    this.#room.remove(id);
    if (this.#calls.size === 0) {
      this.#idle?.resolve();
      this.#idle = undefined;
    } else if (this.loop.suspicion === undefined && !this.#over) this.#room.sendWaiting();
    return call;
  }

  #deadline(id: string, message: string, limits: CallLimits): NodeJS.Timeout {
    return setTimeout(() => this.#timeIsOver(id, message, limits), limits.timeoutMs);
  }

  /** The same, with a question to the loop before the time is over. */
  #ahead(id: string, message: string, limits: CallLimits): NodeJS.Timeout {
    return setTimeout(() => {
      const call = this.#calls.get(id);
      if (call === undefined) return;
      call.timer = this.#deadline(id, message, { ...limits, timeoutMs: AHEAD_MS });
      if (call.progress !== "begun") return;
      this.loop.ask(
        () => this.#channel.send({ t: "ping" }),
        () => this.#late.silent(true),
      );
    }, limits.timeoutMs - AHEAD_MS);
  }

  #timeIsOver(id: string, message: string, limits: CallLimits): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    const { suspicion } = this.loop;
    if (call.progress !== "begun" && suspicion !== undefined) {
      // It has not begun, because another call blocks the loop: its time begins when that goes on, if it does.
      void suspicion.then(() => {
        if (this.#calls.has(id)) call.timer = this.#deadline(id, message, limits);
      });
      return;
    }
    const isSent = call.progress !== "waiting";
    // Before the others are sent that waited for its room.
    if (isSent) this.loop.suspect();
    this.#close(id)?.reject(new RuntimeFault("timed_out", message));
    if (!isSent) return;
    this.#cancelled.set(id, false);
    this.#channel.send({ t: "cancel", id });
    setTimeout(() => {
      if (this.#cancelled.get(id) !== false) return;
      this.#late.silent(false);
      this.loop.settle();
    }, NOTE_MS).unref();
    this.#forget(id, limits.graceMs);
  }

  /** Limits the wait for the end of a cancelled call. */
  #forget(id: string, milliseconds: number): void {
    setTimeout(() => {
      const loopAnswers = this.#cancelled.get(id);
      if (loopAnswers === undefined) return;
      this.#cancelled.delete(id);
      this.#late.stuck(loopAnswers);
    }, milliseconds).unref();
  }
}
