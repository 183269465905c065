import { setTimeout as sleep } from "node:timers/promises";
import { type LogCommand, readLogs } from "../agent/supervisors/logs.ts";
import { asSealiftError } from "../contract/errors.ts";
import { printable } from "../support/printable.ts";
import type { LogModel } from "./log-model.ts";

/** Returns the programs that print a target's log and go on with it. @throws UsageError when no log can be read */
export type LogSource = (lines: number) => Promise<LogCommand[]>;

/** Lines of each unit to begin with. */
const FIRST_LINES = 200;
/** Characters of a line that are kept. */
const MAX_LINE = 4096;
/** Lines that are taken in before keys and the watch get their turn. */
const BATCH = 500;
/** Milliseconds of that turn: a plugin that floods its log must not slow the watch down. */
const TURN_MS = 20;
/** Milliseconds until a log that has ended is read again: a container may have been replaced. */
const AGAIN_MS = 3_000;

/**
 * Follows the log of a target until the signal is aborted. A log that ends, or that cannot be read, is told and read
 * again.
 *
 * @param againMs milliseconds between two tries
 */
export async function followLog(
  source: LogSource,
  model: LogModel,
  onChange: () => void,
  signal: AbortSignal,
  againMs = AGAIN_MS,
): Promise<void> {
  let taken = 0;
  const onLine = async ({ unit, line }: { unit: string | null; line: string }): Promise<void> => {
    model.push(unit, line);
    model.note = undefined;
    onChange();
    if (++taken % BATCH === 0) await sleep(TURN_MS, undefined, { signal }).catch(() => {});
  };
  while (!signal.aborted) {
    try {
      await readLogs(await source(FIRST_LINES), { maxCharacters: MAX_LINE, onLine, signal });
      model.note = "The log has ended.";
    } catch (error) {
      const { message, hint } = asSealiftError(error);
      model.note = printable(hint === undefined ? message : `${message} ${hint}`);
    }
    if (signal.aborted) return;
    model.readAgain();
    onChange();
    await sleep(againMs, undefined, { signal, ref: false }).catch(() => {});
  }
}
