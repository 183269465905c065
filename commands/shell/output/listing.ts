import { factsIn, type ListFacts } from "../../../lib/contract/facts/list-facts.ts";
import { localTime } from "../../../lib/support/local-time.ts";
import type { Surroundings } from "./deployment.ts";

/** Columns of a table: the title of each, and its text for one row. */
export type ListColumns<T> = Readonly<Record<string, (row: T) => string>>;

/** Returns the columns of a table from the facts of its rows. */
export const columnsOf = <T>(facts: ListFacts<T>): ListColumns<T> =>
  Object.fromEntries(
    factsIn(facts, "command").map(([, fact]) => [
      fact.title.toUpperCase(),
      (row: T) => {
        if ("text" in fact) return fact.text(row);
        const at = fact.at(row) ?? null;
        return at === null ? fact.none : timeText(at);
      },
    ]),
  );

interface Listing<T> {
  /** Event that reports one row to a program. */
  event: string;
  rows: Iterable<T> | AsyncIterable<T>;
  /** Table for people, or a function that makes it when all rows have arrived. */
  columns: ListColumns<T> | ((rows: readonly T[]) => Promise<ListColumns<T>>);
  /** Remark for people when there is no row. */
  none?: string;
  /** Returns the facts of the result event. Default: `count`. */
  result?: (count: number) => Record<string, unknown>;
}

/** Prints a list: each row as an event as soon as it arrives, or all as a table for people. @returns the exit code */
export async function showList<T extends object>(
  { json, isForPeople, print, note, done }: Surroundings,
  { event, rows, columns, none, result = (count) => ({ count }) }: Listing<T>,
): Promise<number> {
  const all: T[] = [];
  for await (const row of rows) {
    if (json) print.event({ event, ...row });
    all.push(row);
  }
  if (json) return done(result(all.length));
  const { tableLines } = await import("./table.ts");
  const table = typeof columns === "function" ? await columns(all) : columns;
  for (const line of tableLines(table, all, isForPeople)) print.line(line);
  if (all.length === 0 && none !== undefined) note(none);
  return done({});
}

/**
 * Formats a time to the second: local on a terminal, UTC elsewhere.
 *
 * @param time ISO 8601; any other text is returned as it is
 */
export function timeText(time: string, onTerminal = process.stdout.isTTY): string {
  const at = Date.parse(time);
  if (Number.isNaN(at)) return time;
  return onTerminal ? localTime(at) : `${new Date(at).toISOString().slice(0, 19).replace("T", " ")}Z`;
}
