import { setTimeout as sleep } from "node:timers/promises";
import { useEffect, useRef } from "react";
import { type LogCommand, readLogs } from "../agent/supervisors/logs.ts";
import { asSealiftError } from "../contract/errors.ts";
import { printable } from "../support/printable.ts";

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
 * Follows the log of a target until the signal is aborted. Reports a log that ends or cannot be read, and reads it
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

/** The log of `source`, followed for as long as it is looked at; its programs end with it. */
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

/** Lines that are kept to look back at. */
const LINES_KEPT = 1000;
const TAB = "    ";

export interface ShownLine {
  /** The unit, where several write at once. */
  unit: string | null;
  text: string;
}

/** The last lines that a target's units have written. */
export class LogModel {
  /** Why nothing is read at the moment. */
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

  /** The log is read from its tail again: the next line takes the place of all that are there. */
  readAgain(): void {
    this.#again = true;
  }

  /**
   * Returns the lines.
   *
   * @param looksBack whether a person has scrolled away from the end; the lines then stay as they are
   */
  shown(looksBack: boolean): readonly ShownLine[] {
    if (!looksBack) this.#held = undefined;
    else this.#held ??= [...this.#lines];
    return this.#held ?? this.#lines;
  }
}
