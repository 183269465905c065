import { randomUUID } from "node:crypto";
import type { RuntimeCode } from "../../contract/surfaces/runtime.ts";
import { traceparentOf } from "../../support/trace-context.ts";
import type { CallFacts } from "../ground/instance.ts";
import { RuntimeFault } from "../guest/fault.ts";
import type { Frame } from "../guest/frames.ts";
import { cleanJson } from "../guest/json.ts";
import type { Channel } from "./channel.ts";
import { MAX_ID_CHARACTERS, text } from "./frame-fields.ts";

/** Calls that one process may have open. */
const MAX_CALLS = 1024;
const MAX_STACK_CHARACTERS = 8192;

/** Codes that a plugin's own reply may carry; anything else becomes `action_failed`. */
const REPLY_CODES: ReadonlySet<string> = new Set<RuntimeCode>([
  "action_failed",
  "payload_invalid",
  "result_not_serialisable",
  "result_too_large",
  "permission_denied",
  "service_unavailable",
  "call_too_deep",
]);

/** A request to a route of the plugin, as far as its frames go. */
export interface OpenExchange {
  /** Takes a frame that belongs to it: `head`, `data` or `taken`. */
  take(frame: Frame): void;
  /** It has ended well: the last frame. */
  replied(frame: Frame): void;
  reject(fault: RuntimeFault): void;
}

export interface OpenCall extends CallFacts {
  /** Takes the good reply. */
  replied: (frame: Frame) => void;
  reject: (fault: RuntimeFault) => void;
  /** Takes any other frame of it; absent for an action, which has none. */
  take?: OpenExchange["take"];
  timer: NodeJS.Timeout;
}

/** Stands for what was thrown in the plugin's process. */
function remoteError(message: string, stack: unknown): Error | undefined {
  if (typeof stack !== "string") return undefined;
  const error = new Error(message);
  error.stack = stack.slice(0, MAX_STACK_CHARACTERS);
  return error;
}

/** Codes that the reply of a route may carry, too: the request is the client's. */
const ROUTE_CODES: ReadonlySet<string> = new Set<RuntimeCode>([
  ...(REPLY_CODES as ReadonlySet<RuntimeCode>),
  "bad_request",
  "bad_json",
  "not_found",
]);

/** The hold that the runtime has on an exchange. */
export interface ExchangeControl {
  readonly id: string;
  /** Says whose turn it is: the plugin's time begins anew, or stands still while the client is waited for. */
  pluginsTurn(isIts: boolean): void;
  /** Tells the plugin that nobody waits any more. */
  giveUp(): void;
}

export interface CallLimits {
  timeoutMs: number;
  /** Milliseconds for which a cancelled call may go on. */
  graceMs: number;
}

/**
 * The calls that one process has open, matched with its replies by id. A call whose time is over is answered at once
 * and waited for apart from the others, so that its late reply reaches nobody.
 */
export class OpenCalls {
  readonly #channel: Channel;
  readonly #onStuck: (loopAnswers: boolean) => void;
  readonly #calls = new Map<string, OpenCall>();
  /** Calls whose time is over, until they end: id → whether the plugin's loop took note. */
  readonly #cancelled = new Map<string, boolean>();
  #suspicion: PromiseWithResolvers<void> | undefined;
  #idle: PromiseWithResolvers<void> | undefined;

  /** @param onStuck hears of a cancelled call that has not ended within its grace */
  constructor(channel: Channel, onStuck: (loopAnswers: boolean) => void) {
    this.#channel = channel;
    this.#onStuck = onStuck;
  }

  get size(): number {
    return this.#calls.size;
  }

  /**
   * Resolves when the loop has answered the last cancellation, or the process has ended; absent when there is no doubt.
   * Until then the loop may be blocked, and no call should be sent there.
   */
  get suspicion(): Promise<void> | undefined {
    return this.#suspicion?.promise;
  }

  find(id: unknown): OpenCall | undefined {
    return typeof id === "string" ? this.#calls.get(id) : undefined;
  }

  /** Resolves when none is open any more. */
  async drained(): Promise<void> {
    if (this.#calls.size === 0) return;
    await (this.#idle ??= Promise.withResolvers()).promise;
  }

  /** @throws RuntimeFault `rate_limited` */
  #admit(): void {
    // Those that were given up still run in the plugin.
    if (this.#calls.size + this.#cancelled.size >= MAX_CALLS)
      throw new RuntimeFault("rate_limited", `${MAX_CALLS} calls are in flight already.`);
    if (this.#channel.isCrowded)
      throw new RuntimeFault("rate_limited", "The plugin has not read the calls that it was sent before.");
  }

  open(
    action: string,
    payload: string,
    { requestId, depth, trace, timeoutMs, graceMs }: CallFacts & CallLimits,
  ): Promise<string> {
    // Not to be guessed: a plugin must not be able to answer a call that it was not given.
    const id = randomUUID();
    return new Promise((resolve, reject) => {
      this.#admit();
      const replied = ({ body }: Frame): void => {
        try {
          resolve(cleanJson(body));
        } catch {
          this.#channel.drop("malformed");
          reject(new RuntimeFault("result_not_serialisable", "The plugin's reply is not JSON."));
        }
      };
      const timer = this.#deadline(id, `The action ${action} took longer than ${timeoutMs / 1000} s.`, {
        timeoutMs,
        graceMs,
      });
      this.#calls.set(id, { replied, reject, timer, requestId, depth, trace });
      this.#channel.send({ t: "call", id, action, requestId, traceparent: trace && traceparentOf(trace) }, payload);
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
    { requestId, depth, trace, timeoutMs, graceMs }: CallFacts & CallLimits,
  ): ExchangeControl {
    this.#admit();
    const id = randomUUID();
    try {
      const traceparent = trace && traceparentOf(trace);
      this.#channel.send({ ...header, t: "route", id, requestId, traceparent, b: 1 }, bytes);
    } catch (error) {
      throw new RuntimeFault("bad_request", `The request's head is too large: ${(error as Error).message}.`);
    }
    const limits = { timeoutMs, graceMs };
    const late = `The plugin's route did not go on for ${timeoutMs / 1000} s.`;
    let wasIts = true;
    const call: OpenCall = {
      replied: (frame) => exchange.replied(frame),
      reject: (fault) => exchange.reject(fault),
      take: (frame) => exchange.take(frame),
      ...{ timer: this.#deadline(id, late, limits), requestId, depth, trace },
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
        // A client that has gone is no fault of the plugin, which gets the time of a call to notice.
        this.#cancelled.set(id, true);
        this.#channel.send({ t: "cancel", id, gone: true });
        this.#forget(id, timeoutMs + graceMs);
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

  /** Takes a reply. Returns false when no call is waiting for it: it is forged, or repeated. */
  reply(frame: Frame): boolean {
    const { header } = frame;
    const id = text(header["id"], MAX_ID_CHARACTERS);
    if (this.#cancelled.has(id)) {
      this.tookNote(id);
      this.#cancelled.delete(id);
      this.#channel.dropBlameless("late");
      return true;
    }
    const call = this.#close(id);
    if (call === undefined) return false;
    if (header["ok"] === true) call.replied(frame);
    else {
      const codes = call.take === undefined ? REPLY_CODES : ROUTE_CODES;
      const said = text(header["code"], MAX_ID_CHARACTERS);
      const code = codes.has(said) ? (said as RuntimeCode) : "action_failed";
      const message = text(header["message"], 8192);
      call.reject(new RuntimeFault(code, message, { cause: remoteError(message, header["stack"]) }));
    }
    return true;
  }

  /** The loop has read a cancellation. */
  tookNote(id: string): void {
    if (this.#cancelled.has(id)) this.#cancelled.set(id, true);
    if ([...this.#cancelled.values()].includes(false)) return;
    this.#suspicion?.resolve();
    this.#suspicion = undefined;
  }

  /** Fails every open call: the process has ended. */
  abandon(fault: () => RuntimeFault): void {
    for (const id of [...this.#calls.keys()]) this.#close(id)?.reject(fault());
    this.#cancelled.clear();
    this.#suspicion?.resolve();
  }

  #close(id: string): OpenCall | undefined {
    const call = this.#calls.get(id);
    if (call === undefined) return undefined;
    clearTimeout(call.timer);
    this.#calls.delete(id);
    if (this.#calls.size === 0) {
      this.#idle?.resolve();
      this.#idle = undefined;
    }
    return call;
  }

  #deadline(id: string, message: string, { timeoutMs, graceMs }: CallLimits): NodeJS.Timeout {
    return setTimeout(() => {
      this.#close(id)?.reject(new RuntimeFault("timed_out", message));
      this.#cancelled.set(id, false);
      this.#suspicion ??= Promise.withResolvers();
      this.#channel.send({ t: "cancel", id });
      this.#forget(id, graceMs);
    }, timeoutMs);
  }

  /** Waits for the end of a cancelled call no longer than this. */
  #forget(id: string, milliseconds: number): void {
    setTimeout(() => {
      const loopAnswers = this.#cancelled.get(id);
      if (loopAnswers === undefined) return;
      this.#cancelled.delete(id);
      this.#onStuck(loopAnswers);
    }, milliseconds).unref();
  }
}
