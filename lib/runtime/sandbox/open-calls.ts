import { randomUUID } from "node:crypto";
import type { RuntimeCode } from "../../contract/surfaces/runtime.ts";
import { RuntimeFault } from "../guest/fault.ts";
import { cleanJson } from "../guest/json.ts";
import type { CallFacts } from "../lifecycle/instance.ts";
import type { Channel } from "./channel.ts";

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

export interface OpenCall extends CallFacts {
  resolve: (json: string) => void;
  reject: (fault: RuntimeFault) => void;
  timer: NodeJS.Timeout;
}

/** Stands for what was thrown in the plugin's process. */
function remoteError(message: string, stack: unknown): Error | undefined {
  if (typeof stack !== "string") return undefined;
  const error = new Error(message);
  error.stack = stack.slice(0, MAX_STACK_CHARACTERS);
  return error;
}

export interface CallLimits {
  timeoutMs: number;
  /** How long a cancelled call may go on. */
  graceMs: number;
}

/**
 * The calls that one process has open, matched with its replies by id. A call whose time is over is answered at once and waited for
 * apart from the others, so that its late reply reaches nobody.
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
   * Resolves when the loop has answered the last cancellation, or the process has ended; absent when there is no doubt. Until then the
   * loop may be blocked, and no call should be sent there.
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

  open(
    action: string,
    payload: string,
    { requestId, depth, timeoutMs, graceMs }: CallFacts & CallLimits,
  ): Promise<string> {
    if (this.#calls.size >= MAX_CALLS) {
      return Promise.reject(new RuntimeFault("rate_limited", `${MAX_CALLS} calls are in flight already.`));
    }
    // Not to be guessed: a plugin must not be able to answer a call that it was not given.
    const id = randomUUID();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#close(id)?.reject(
          new RuntimeFault("timed_out", `The action ${action} took longer than ${timeoutMs / 1000} s.`),
        );
        this.#cancel(id, graceMs);
      }, timeoutMs);
      this.#calls.set(id, { resolve, reject, timer, requestId, depth });
      this.#channel.send({ t: "call", id, action, requestId }, payload);
    });
  }

  /** Takes a reply. Returns false when no call is waiting for it: it is forged, or repeated. */
  reply(header: Record<string, unknown>, body: string): boolean {
    const id = String(header["id"]);
    if (this.#cancelled.has(id)) {
      this.tookNote(id);
      this.#cancelled.delete(id);
      this.#channel.dropLate();
      return true;
    }
    const call = this.#close(id);
    if (call === undefined) return false;
    if (header["ok"] !== true) {
      const code = REPLY_CODES.has(String(header["code"])) ? (header["code"] as RuntimeCode) : "action_failed";
      const message = typeof header["message"] === "string" ? header["message"].slice(0, 8192) : "";
      call.reject(new RuntimeFault(code, message, { cause: remoteError(message, header["stack"]) }));
      return true;
    }
    try {
      call.resolve(cleanJson(body));
    } catch {
      this.#channel.drop("malformed");
      call.reject(new RuntimeFault("result_not_serialisable", "The plugin's reply is not JSON."));
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

  #cancel(id: string, graceMs: number): void {
    this.#cancelled.set(id, false);
    this.#suspicion ??= Promise.withResolvers();
    this.#channel.send({ t: "cancel", id });
    setTimeout(() => {
      const loopAnswers = this.#cancelled.get(id);
      if (loopAnswers === undefined) return;
      this.#cancelled.delete(id);
      this.#onStuck(loopAnswers);
    }, graceMs).unref();
  }
}
