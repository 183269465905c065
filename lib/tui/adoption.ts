import type { FleetAdoption } from "../contract/fleets/adoption.ts";
import { ADOPTION_DAYS } from "../contract/fleets/adoption.ts";
import { barChart } from "./text.ts";

/** Columns of the graph: one per day. */
export const GRAPH = ADOPTION_DAYS;

/** Last days of a fleet, as rows of columns on one scale. */
export interface AdoptionGraph {
  /** Returns the row of the versions: their hosts on each day. */
  of: (isOne: (version: string) => boolean) => string;
  /** Row of the hosts that failed, on a scale of its own, and the most on one day. */
  failed: { row: string; most: number };
  /** Labels of the first and the last day. */
  axis: string;
  /** Versions that had hosts in these days, those with the most on a day first. */
  versions: string[];
}

/** Returns a fleet's last days as a graph, if it has any. */
export function adoptionGraph({ days }: FleetAdoption): AdoptionGraph | undefined {
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const hostsOf = (isOne: (version: string) => boolean): number[] =>
    days.map(({ versions }) => versions.reduce((sum, { version, hosts }) => sum + (isOne(version) ? hosts : 0), 0));
  const largest = Math.max(...hostsOf(() => true));
  const most = new Map<string, number>();
  for (const { versions } of days)
    for (const { version, hosts } of versions) most.set(version, Math.max(hosts, most.get(version) ?? 0));
  const failing = days.map(({ failing }) => failing);
  const mostFailing = Math.max(...failing);
  // A fleet with many reports has fewer days: they end on the right, where today is.
  const placed = (row: string): string => row.padStart(GRAPH);
  return {
    of: (isOne) => placed(barChart(hostsOf(isOne), largest)),
    failed: { row: placed(barChart(failing, mostFailing)), most: mostFailing },
    axis: placed(axisOf(first.day, last.day, days.length)),
    versions: [...most].toSorted(([, a], [, b]) => b - a).map(([version]) => version),
  };
}

/** Returns `10-28 ──── 11-26` in as many columns as there are days, or the last day alone where both do not fit. */
function axisOf(first: string, last: string, length: number): string {
  const [from, to] = [first.slice(5), last.slice(5)];
  const line = length - from.length - to.length - 2;
  return line < 1 ? to : `${from} ${"─".repeat(line)} ${to}`;
}
