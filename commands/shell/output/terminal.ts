import { closeSync, openSync } from "node:fs";
import type { BaseContext } from "clipanion";
import { interruptible } from "../base.ts";

interface Streams {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
}

/** Returns the terminal for a dashboard, or undefined: pipes, CI and dumb terminals get lines. */
export function terminalOf({ stdin, stdout }: BaseContext): Streams | undefined {
  const streams = { stdin, stdout } as Streams;
  const able = streams.stdin.isTTY && streams.stdout.isTTY && process.env.TERM !== "dumb" && !process.env.CI;
  return able ? streams : undefined;
}

/**
 * Loads a dashboard cheaply (docs/decisions/0009-dashboard.md), with React's production build. That is chosen by a
 * variable, which must not be passed to programs started by this one.
 */
export async function loadForProduction<T>(load: () => Promise<T>): Promise<T> {
  const before = process.env.NODE_ENV;
  process.env.NODE_ENV = "production";
  try {
    return await load();
  } finally {
    if (before === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = before;
  }
}

/**
 * Aborts when the terminal closes: on its hang-up signal, the end of its input, or an error of either side. Work under
 * way can then be finished or undone, which an unhandled error would prevent.
 *
 * @param reload called on a SIGHUP of a person or a service manager, while the terminal is still there
 */
export function endWithTerminal(stop: AbortController, { stdin, stdout }: Streams, reload?: () => void): Disposable {
  const end = (): void => stop.abort();
  const onHangUp = (): void => (reload !== undefined && hasTerminal() ? reload() : end());
  process.on("SIGHUP", onHangUp);
  stdin.on("end", end).on("error", end);
  stdout.on("error", end);
  return {
    [Symbol.dispose]() {
      process.off("SIGHUP", onHangUp);
      stdin.off("end", end);
      // The listeners for errors stay: a late one must not become an exception.
    },
  };
}

/**
 * Shows a dashboard until somebody quits, a signal arrives or the terminal closes.
 *
 * @param show starts to show it; `quit` ends it
 * @param meanwhile continues beside it until the signal is aborted
 */
export async function untilQuit(
  terminal: Streams,
  show: (quit: () => void) => { unmount(): void; waitUntilExit(): Promise<unknown> },
  meanwhile?: (ended: AbortSignal) => Promise<void>,
): Promise<void> {
  using interrupt = interruptible();
  const stop = new AbortController();
  using _terminal = endWithTerminal(stop, terminal);
  const picture = show(() => stop.abort());
  const ended = AbortSignal.any([interrupt.signal, stop.signal]);
  ended.addEventListener("abort", () => picture.unmount(), { once: true });
  if (ended.aborted) picture.unmount();
  await Promise.all([meanwhile?.(ended), picture.waitUntilExit()]);
}

/** Tells whether this process still has its controlling terminal, which a hang-up removes. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r+"));
    return true;
  } catch {
    return false;
  }
}
