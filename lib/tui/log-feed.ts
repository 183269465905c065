import { setTimeout as sleep } from "node:timers/promises";
import { useEffect, useRef } from "react";
import { type LogSource as Source, readLogs } from "../agent/supervisors/logs.ts";
import { asSealiftError } from "../contract/errors.ts";
import { printable } from "../support/printable.ts";

/** Returns where a target's log is, to be read and followed. @throws UsageError when no log can be read */
export type LogSource = (lines: number) => Promise<Source[]>;

/** Initial lines of each unit. */
const FIRST_LINES = 200;
/** Most characters kept of a line. */
const MAX_LINE = 4096;
/** Lines added before keys and the watch get their turn. */
const BATCH = 500;
/** Duration of that turn, in milliseconds: a plugin that floods its log must not slow the watch down. */
const TURN_MS = 20;
/** Time until an ended log is read again, in milliseconds: a container may have been replaced. */
const AGAIN_MS = 3_000;

/**
 * Follows the log of a target until the signal is aborted. Reports a log that ends or cannot be read, and reads it
 * again.
 *
 * @param againMs milliseconds between two attempts
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

/** Follows the log of `source` for as long as it is shown; its programs end with it. */
export function useLog(
  name: string | undefined,
  source: LogSource | undefined,
  looking: boolean,
  onChange: () => void,
): LogModel | undefined {
  const kept = useRef<{ name: string; model: LogModel } | undefined>(undefined);
  if (!looking || name === undefined) kept.current = undefined;
  else if (kept.current?.name !== name) kept.current = { name, model: new LogModel() };
  const model = kept.current?.model;
  useEffect(() => {
    if (model === undefined || source === undefined) return;
    const stop = new AbortController();
    void followLog(source, model, onChange, stop.signal);
    return () => stop.abort();
  }, [model, source, onChange]);
  return model;
}

/** Lines kept for scrolling back. */
const LINES_KEPT = 1000;
const TAB = "    ";

export interface ShownLine {
  /** Unit, where several write at the same time. */
  unit: string | null;
  text: string;
}

/** Last lines that a target's units have written. */
export class LogModel {
  /** Reason why nothing is being read. */
  note: string | undefined;
  #lines: ShownLine[] = [];
  #held: readonly ShownLine[] | undefined;
  #again = false;

  push(unit: string | null, line: string): void {
    if (this.#again) this.#lines = [];
    this.#again = false;
    this.#lines.push({ unit, text: printable(line.replaceAll("\t", TAB)) });
    if (this.#lines.length > LINES_KEPT) this.#lines = this.#lines.slice(-LINES_KEPT * 0.9);
  }

  /** Reads the log from its tail again: the next line replaces all present ones. */
  readAgain(): void {
    this.#again = true;
  }

  /**
   * Returns the lines.
   *
   * @param looksBack whether a person has scrolled away from the end, so that the lines must not change
   */
  shown(looksBack: boolean): readonly ShownLine[] {
    if (!looksBack) this.#held = undefined;
    else this.#held ??= [...this.#lines];
    return this.#held ?? this.#lines;
  }
}
