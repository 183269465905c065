import { causeOfCode, causeOfMessage, type WaitCause } from "../blame.ts";
import type { ReadHost } from "../facts/host.ts";

// Apart from the schemas, so that a command that shows records, and `--help`, load none.

/** Facts of a host that say what runs. */
type HostVersions = Pick<ReadHost, "version" | "running_version"> & Trouble;

/** Facts of a host that say whether something went wrong. */
type Trouble = Pick<ReadHost, "status" | "error_message" | "code" | "superseded" | "health">;

export const HEALTH_STATES = ["healthy", "unhealthy"] as const;

/** Health of what a host runs, after its deployment, since a time of its clock. */
export type Health = NonNullable<ReadHost["health"]>;

/**
 * Prefix of the error message of a host that has become unhealthy after a deployment. Such a report has the status
 * `failed`, so that a hub that does not know health shows it, too.
 */
export const UNHEALTHY = "unhealthy: ";

/** True for the record of a host whose report is about the health of what runs, not about a deployment. */
export const tellsUnhealthy = ({ error_message: message }: Pick<Trouble, "error_message">): boolean =>
  message?.startsWith(UNHEALTHY) === true;

/** Describes what an operator has stopped on a host: `stopped: apps/web`. Undefined for nothing. */
export function stoppedText({ health }: Pick<Trouble, "health">): string | undefined {
  const { stopped = [] } = health ?? {};
  return stopped.length === 0 ? undefined : `stopped: ${stopped.join(", ")}`;
}

/**
 * Returns since when a host is unhealthy, ISO 8601, if it is. Records of hubs that do not know health have it in their
 * message.
 */
export function unhealthySince(record: Pick<ReadHost, "error_message" | "health" | "started_at">): string | undefined {
  if (record.health !== undefined) return record.health.state === "unhealthy" ? record.health.since : undefined;
  return tellsUnhealthy(record) ? (record.started_at ?? "") : undefined;
}

/**
 * Describes the health of an unhealthy host: `since TIME: apps/web: …`. Undefined for any other.
 *
 * @param timeText formats a time of ISO 8601
 */
export function unhealthyText(
  record: Parameters<typeof unhealthySince>[0],
  timeText: (time: string) => string,
): string | undefined {
  const since = unhealthySince(record);
  if (since === undefined) return undefined;
  const cause = tellsUnhealthy(record) ? record.error_message!.slice(UNHEALTHY.length) : (record.error_message ?? "");
  return [since === "" ? "" : `since ${timeText(since)}`, cause].filter(Boolean).join(": ");
}

/** Returns the version that a host runs by its record: null for none, undefined if unknown. */
export function runningVersion(record: HostVersions): string | null | undefined {
  if (record.running_version !== undefined) return record.running_version;
  return record.status === "success" ? record.version : undefined;
}

/** Time without a deployment or poll after which a host counts as silent: 30 days, in milliseconds. */
export const STALE_MS = 30 * 24 * 60 * 60 * 1000;

/** Returns when a host was last heard of, in milliseconds since 1970; undefined when its record does not say. */
export function lastHeard(
  record: Pick<ReadHost, "completed_at" | "created_at" | "seen_at" | "by_kit">,
): number | undefined {
  // The hub has bounded when a report that came back by a kit was made; a host's own clock has no bound.
  const said = record.by_kit === undefined ? record.completed_at : undefined;
  const times = [said, record.created_at, record.seen_at].map((time) => Date.parse(time ?? ""));
  const known = times.filter((time) => !Number.isNaN(time));
  return known.length === 0 ? undefined : Math.max(...known);
}

/**
 * Tells whether a host has been silent for too long; one whose record has no time has not. @param now milliseconds
 * since 1970
 */
export const isStale = (record: Parameters<typeof lastHeard>[0], staleMs: number, now: number): boolean =>
  now - (lastHeard(record) ?? now) > staleMs;

/**
 * Returns why the version that a report is about is not to blame for its failure (blame.ts); undefined for one that is,
 * and for a success.
 */
export function blamelessCause(report: Pick<Trouble, "status" | "error_message" | "code">): WaitCause | undefined {
  const { status, error_message: message, code } = report;
  if (status === "success" || tellsUnhealthy(report)) return undefined;
  return typeof code === "string" ? causeOfCode(code) : causeOfMessage(message ?? "");
}

/** Returns why a host waits: no version failed there, and what it runs is not unhealthy. Undefined for any other. */
export const waitCause = (record: Trouble): WaitCause | undefined =>
  record.superseded === true || unhealthySince(record) !== undefined ? undefined : blamelessCause(record);

/** True for the record of a host that waits, though no version failed there. */
export const isWaiting = (record: Trouble): boolean => waitCause(record) !== undefined;

/** States of hosts that wait, for people; a number may stand before each. */
export const WAIT_TEXTS: Record<WaitCause, string> = {
  rights: "waiting for consent to rights",
  policy: "held by policy",
  application: "waiting until an application is allowed",
  settings: "waiting for settings",
  interrupted: "interrupted",
  host: "waiting for the host",
  hub: "waiting for the hub",
};

/** Words for the state of a host that waits, by the cause. */
export const WAIT_WORDS: Record<WaitCause, "held" | "interrupted" | "waits"> = {
  ...{ rights: "held", policy: "held", application: "held", settings: "held" },
  ...{ interrupted: "interrupted", host: "waits", hub: "waits" },
};

/** Tells whether a host's last report is of trouble with another version than the one that it runs. */
export function reportsOtherVersion(record: HostVersions): boolean {
  const running = runningVersion(record);
  return record.status !== "success" && typeof running === "string" && running !== record.version;
}

/** Tells whether a host fails now, is unhealthy, or waits. */
export const isInTrouble = (record: Trouble): boolean =>
  unhealthySince(record) !== undefined || (record.status !== "success" && record.superseded !== true);

/** Tells whether a version failed on a host, or runs there and is unhealthy. */
export const isFailing = (record: Trouble): boolean => isInTrouble(record) && !isWaiting(record);

/** States of hosts, in the order of lists: those that need attention first. */
export const HOST_STATES = ["failed", "held", "ok", "silent"] as const;
export type HostState = (typeof HOST_STATES)[number];

/** Returns the state of a host by its last report alone, however old. */
export function reportedState(record: Trouble): Exclude<HostState, "silent"> {
  if (isWaiting(record)) return "held";
  return isFailing(record) ? "failed" : "ok";
}

/** Returns the state of a host. @param now milliseconds since 1970 */
export function stateOfHost(
  record: Parameters<typeof reportedState>[0] & Parameters<typeof lastHeard>[0],
  now: number,
): HostState {
  return isStale(record, STALE_MS, now) ? "silent" : reportedState(record);
}

/** Text shown in place of a version where none runs. */
export const NOTHING = "none";

/** Returns the version that a host runs, as shown and counted. */
export function shownVersion(host: HostVersions): string {
  const running = runningVersion(host);
  return running === undefined ? `${host.version} (failed)` : (running ?? NOTHING);
}

/** Returns the version whose deployment fails, where another one is shown as running. */
export const triedVersion = (host: HostVersions): string | null =>
  !isInTrouble(host) || tellsUnhealthy(host) || runningVersion(host) === undefined ? null : host.version;

/** Returns the failure of a host in one line, with the version that was tried. */
export function troubleOf(of: { tried: string | null; error: string | null; waits: WaitCause | undefined }): string {
  const { tried, error, waits } = of;
  const isHeld = waits !== undefined && WAIT_WORDS[waits] === "held";
  if (tried === null || isHeld) return error ?? "";
  const what =
    waits === undefined ? `${tried} failed` : `${tried} ${waits === "interrupted" ? "was interrupted" : "waits"}`;
  return error === null ? what : `${what}: ${error}`;
}
