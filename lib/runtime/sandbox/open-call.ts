import type { CallFacts } from "../base/instance.ts";
import type { RuntimeFault } from "../guest/fault.ts";
import type { Frame } from "../guest/frames.ts";

/** Open call of a sandbox's process, and its waiting callers. */

/** Request to a route of the plugin, as far as its frames are concerned. */
export interface OpenExchange {
  /** Takes a frame that belongs to it: `head`, `data` or `taken`. */
  take(frame: Frame): void;
  /** Takes the last frame of a successful exchange. */
  replied(frame: Frame): void;
  reject(fault: RuntimeFault): void;
}

export interface OpenCall extends CallFacts {
  /** Takes the successful reply. */
  replied: (frame: Frame) => void;
  reject: (fault: RuntimeFault) => void;
  /** Takes any other frame of it; undefined for an action, which has none. */
  take?: OpenExchange["take"];
  timer: NodeJS.Timeout;
  /** `waiting`: not sent yet. `asked`: sent, and the process is asked to confirm its beginning. */
  progress: "waiting" | "asked" | "begun";
}

/** Runtime's control over an exchange. */
export interface ExchangeControl {
  readonly id: string;
  /** Restarts the plugin's time, or stops it while the client is waited for. */
  pluginsTurn(isIts: boolean): void;
  /** Tells the plugin that nobody waits any more. */
  giveUp(): void;
}

export interface CallLimits {
  timeoutMs: number;
  /** Time for which a cancelled call may continue, in milliseconds. */
  graceMs: number;
}

/** Listener for calls that continue after their time. */
export interface LateCalls {
  /**
   * The loop takes no note of a cancellation, or gives no answer: it may be blocked.
   * @param isAhead the time of the call is not over yet
   */
  silent(isAhead: boolean): void;
  /** A cancelled call has not ended within its grace. */
  stuck(loopAnswers: boolean): void;
}
