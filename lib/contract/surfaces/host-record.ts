import type { DeploymentStatus } from "./reports.ts";

// Apart from the schemas, so that a command that shows records, and `--help`, load none.

/** The part of a host's record that tells what runs. */
interface HostVersions {
  version: string;
  status: DeploymentStatus;
  running_version?: string | null | undefined;
}

/** Returns the version that a host runs by its record: null when none does, undefined when nobody knows. */
export function runningVersion(record: HostVersions): string | null | undefined {
  if (record.running_version !== undefined) return record.running_version;
  return record.status === "success" ? record.version : undefined;
}

/** Silence after which a host counts as silent: 30 days without a deployment or a question for the latest version. */
export const STALE_MS = 30 * 24 * 60 * 60 * 1000;

/** Returns when a host was last heard of, in milliseconds since 1970; `undefined` when its record does not tell. */
export function lastHeard(record: {
  completed_at?: string | null | undefined;
  created_at?: string | null | undefined;
  seen_at?: string | null | undefined;
}): number | undefined {
  const times = [record.completed_at, record.created_at, record.seen_at].map((time) => Date.parse(time ?? ""));
  const known = times.filter((time) => !Number.isNaN(time));
  return known.length === 0 ? undefined : Math.max(...known);
}

/** Tells whether a host has been silent for a time; one whose record has no time is not. @param now since 1970, ms */
export const isStale = (record: Parameters<typeof lastHeard>[0], staleMs: number, now: number): boolean =>
  now - (lastHeard(record) ?? now) > staleMs;

/**
 * The beginning of the error message of a version that asks for more rights than the running one. Hubs keep messages
 * as they are, so that every hub can show it.
 */
export const HELD_RIGHTS = "held: rights: ";

/** The prefix of the error of a version that does not meet the host's policy. */
export const HELD_POLICY = "held: policy: ";

/** Tells whether rights that await consent, or the host's policy, hold the version of a host's record. */
export function heldBy({
  error_message: message,
}: {
  error_message?: string | null | undefined;
}): "rights" | "policy" | undefined {
  if (message?.startsWith(HELD_RIGHTS) === true) return "rights";
  return message?.startsWith(HELD_POLICY) === true ? "policy" : undefined;
}

/** True for the record of a host that holds the version: until a person consents, or until it meets the policy. */
export const isHeld = (record: Parameters<typeof heldBy>[0]): boolean => heldBy(record) !== undefined;

/** States of hosts, in the order of lists: those first that need somebody. */
export const HOST_STATES = ["failed", "held", "ok", "silent"] as const;
export type HostState = (typeof HOST_STATES)[number];

/** Returns the state of a host by its last report alone, whenever that came. */
export function reportedState(record: {
  status: DeploymentStatus;
  error_message?: string | null | undefined;
}): Exclude<HostState, "silent"> {
  if (isHeld(record)) return "held";
  return record.status === "success" ? "ok" : "failed";
}

/** Returns the state of a host. @param now milliseconds since 1970 */
export function stateOfHost(
  record: Parameters<typeof reportedState>[0] & Parameters<typeof lastHeard>[0],
  now: number,
): HostState {
  return isStale(record, STALE_MS, now) ? "silent" : reportedState(record);
}

/** Shown in place of a version where none runs. */
export const NOTHING = "none";

/** Returns the version that a host runs, as it is shown and counted. */
export function shownVersion(host: HostVersions): string {
  const running = runningVersion(host);
  return running === undefined ? `${host.version} (failed)` : (running ?? NOTHING);
}

/** Returns the version whose deployment failed, where something else is shown as running. */
export const triedVersion = (host: HostVersions): string | null =>
  host.status === "success" || runningVersion(host) === undefined ? null : host.version;

/** Returns the failure of a host in one line, with the version that was tried. */
export const troubleOf = ({
  tried,
  error,
  held,
}: {
  tried: string | null;
  error: string | null;
  held: boolean;
}): string => (tried === null || held ? (error ?? "") : `${tried} failed${error === null ? "" : `: ${error}`}`);
