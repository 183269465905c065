import type { RuntimeCode } from "../../contract/surfaces/runtime.ts";

/** Reason for which a sandbox's process ended. */
export interface ExitReason {
  code: RuntimeCode;
  message: string;
  /** Set when large payloads were with it: then its callers have filled its memory, and the plugin is not blamed. */
  byCallers?: boolean;
}

export const memoryExceeded = (megabytes: number): ExitReason => ({
  code: "memory_exceeded",
  message: `The plugin's process used more than ${megabytes} MB of memory.`,
});

/** Signals by which V8 ends a process whose heap is full. */
const HEAP_SIGNALS = ["SIGABRT", "SIGTRAP", "SIGILL"];
/** The same behind a wall: the first process of a namespace is shielded from its own SIGABRT, so abort(3) faults. */
const ENCLOSED_HEAP_SIGNALS = [...HEAP_SIGNALS, "SIGSEGV"];

/**
 * Returns why a process ended that nobody ended on purpose.
 * @param how its signal or exit code
 * @param presumed reason that the process itself gave before
 */
export function reasonOfEnd(
  how: NodeJS.Signals | number | null,
  enclosed: boolean,
  presumed: ExitReason | undefined,
): ExitReason {
  if (typeof how === "string" && (enclosed ? ENCLOSED_HEAP_SIGNALS : HEAP_SIGNALS).includes(how)) {
    return { code: "memory_exceeded", message: "The plugin exceeded its heap limit." };
  }
  const ending = typeof how === "string" ? how : `exit code ${how ?? "unknown"}`;
  return presumed ?? { code: "plugin_crashed", message: `The plugin's process ended (${ending}).` };
}
