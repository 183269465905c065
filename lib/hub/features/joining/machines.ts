import type { JoinedHost } from "../../../contract/joining/records.ts";

/** A watch that speaks for a host. */
export interface Machine {
  /** Random name, kept for as long as the watch runs. */
  instance: string;
  address: string;
  /** Time of the last request, ISO 8601. */
  at: string;
  /** Whether the machine has polled again after another one. */
  again: boolean;
}

/** Most machines remembered of one host. */
const MAX_MACHINES = 8;
/** Silence after which a machine no longer counts as a clone, in milliseconds. */
const CLONE_MS = 6 * 60 * 60 * 1000;

/**
 * Updates the list with a machine that has made a request. One that is written late, by another hub than the machine
 * which has spoken since, changes nothing: it may have ended before.
 *
 * @param known most recent first
 */
export function heardOf(known: readonly Machine[], { instance, address, at }: Omit<Machine, "again">): Machine[] {
  if (known[0] !== undefined && at < known[0].at) return [...known];
  const before = known.find((machine) => machine.instance === instance);
  const again = before !== undefined && (before.again || known[0] !== before);
  const others = known.filter((machine) => machine !== before);
  return [{ instance, address, at, again }, ...others].slice(0, MAX_MACHINES);
}

/**
 * Returns the machines that take turns in speaking for one host, most recent first; none for a single machine. A
 * restarted watch has a new name and its old one never returns, so only machines that run at the same time take turns.
 *
 * @param now milliseconds since 1970
 */
export function clonesOf(machines: readonly Machine[], now: number): JoinedHost["clones"] {
  const live = machines.filter(({ again, at }) => again && now - Date.parse(at) < CLONE_MS);
  return live.length < 2 ? [] : live.map(({ address, at }) => ({ address, heard_at: at }));
}
