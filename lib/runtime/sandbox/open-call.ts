import type { CallFacts } from "../ground/instance.ts";
import type { RuntimeFault } from "../guest/fault.ts";
import type { Frame } from "../guest/frames.ts";

/** One open call of a sandbox's process, and those who wait for it. */

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
  /** `waiting`: not sent yet. `asked`: sent, and the process is to say that it begins it. */
  progress: "waiting" | "asked" | "begun";
}

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

/** Hears of calls that go on after their time. */
export interface LateCalls {
  /**
   * The loop takes no note of a cancellation, or gives no answer: it may be blocked.
   * @param isAhead the time of the call is not over yet
   */
  silent(isAhead: boolean): void;
  /** A cancelled call has not ended within its grace. */
  stuck(loopAnswers: boolean): void;
}
