import type { ControlGroups, GroupBounds } from "../../support/control-groups/control-group.ts";
import type { CallFacts, Use } from "../base/instance.ts";
import type { SandboxUser } from "../base/user.ts";
import type { InitFrame } from "../guest/bootstrap.ts";
import type { PluginLog, PluginPort } from "../guest/plugin-port.ts";
import type { Enclosed, Program } from "../walls/wall.ts";
import type { MemorySampler } from "./memory-sampler.ts";
import type { Reaper } from "./reaper.ts";
import type { SandboxProcess } from "./sandbox-process.ts";

/** Parts that one sandboxed process is started with. */
export interface ProcessOptions {
  launch: Program | Enclosed;
  cwd: string;
  user: SandboxUser | undefined;
  /** Limits of the kernel, if any; the launch then waits for its group. */
  bounds: { groups: ControlGroups; limits: GroupBounds } | undefined;
  init: InitFrame;
  startTimeoutMs: number;
  memoryLimitMb: number;
  /** Payloads that the process may have at once, in bytes. */
  channelBytes: number;
  sampler: MemorySampler;
  reaper: Reaper;
  port: PluginPort<CallFacts>;
  log: PluginLog;
  /** Takes a line of standard output or error. */
  onLine(stream: "stdout" | "stderr", line: string): void;
  /** Called with what an audited plugin did. */
  onUsed?: (use: Use) => void;
  /** Called when a frame was dropped: `unknown_id`, `late`, `malformed` or `unread`. */
  onDropped(reason: string): void;
  late: LateProcess;
}

/** Listener for a process whose calls continue after their time. */
export interface LateProcess {
  /**
   * Its loop takes no note of a cancellation, or gives no answer: it may be blocked.
   * @param isAhead the time of the call is not over yet
   */
  silent(process: SandboxProcess, isAhead: boolean): void;
  /** A cancelled call has not ended within its grace. */
  stuck(process: SandboxProcess, loopAnswers: boolean): void;
}
