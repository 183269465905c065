import { isStale, shownVersion, STALE_MS, UNHEALTHY, unhealthySince } from "../surfaces/host-record.ts";
import type { ReadHost } from "./host.ts";

// Apart from the schemas, so that a command that shows hosts, and `--help`, load none.

/** Prefix of units that are applications. */
const UNIT = "apps/";

/** Application of a host as its last report tells of it. */
export interface HostApplication {
  /** Id of the application; null for a host whose agent names none. */
  application: string | null;
  /** Version that the host runs, or words in its place. */
  version: string;
  /** `running`, `unhealthy`, `stopped`, or another word of the host's supervisor; of a job `waiting` or `failed`. */
  state: string;
  /** Time since when it is in that state, ISO 8601; null where nobody says it. */
  since: string | null;
  /** Starts after an end that nobody asked for; null where nobody says it. */
  restarts: number | null;
  /** Time at which a job was begun last; null for a program that runs all the time. */
  last: string | null;
  /** Reason why it is unhealthy, or why the last run of a job failed. */
  fault: string | null;
  /** Time of the report by the hub's clock. */
  reported_at: string | null;
  /** Whether the host has been silent for so long that the report says little. */
  stale: boolean;
}

/** Names of the fields of a row in lists for programs. */
export const APPLICATION_FIELDS = [
  ...["application", "host_id", "version", "state", "since", "restarts", "last", "fault", "reported_at", "stale"],
  "agent",
] as const;

/**
 * Lists the applications of a host, by id. Of a host with an older agent only those are named that it has trouble with,
 * or one without a name stands for all.
 *
 * @param now milliseconds since 1970
 */
export function applicationsOf(host: ReadHost, now: number, staleMs = STALE_MS): HostApplication[] {
  const shared = {
    version: shownVersion(host),
    reported_at: host.created_at ?? null,
    stale: isStale(host, staleMs, now),
  };
  const { applications } = host;
  const faults = faultsOf(host);
  if (applications !== undefined)
    return Object.entries(applications)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([application, { state, since, restarts, last, fault }]) => ({
        ...{ application, ...shared, state: fault === undefined || state === "stopped" ? state : "failed" },
        ...{ since: since ?? null, restarts: last === undefined && since !== undefined ? (restarts ?? 0) : null },
        ...{ last: last ?? null, fault: fault ?? faults.get(application) ?? null },
      }));
  const nothing = { restarts: null, last: null };
  const since = unhealthySince(host) ?? null;
  const ill = [...faults].map(([application, fault]) => ({
    ...{ application, ...shared, ...nothing, state: "unhealthy", since, fault },
  }));
  const stopped = (host.health?.stopped ?? [])
    .filter((unit) => unit.startsWith(UNIT))
    .map((unit) => ({
      ...{ application: unit.slice(UNIT.length), ...shared, ...nothing, state: "stopped", since: null, fault: null },
    }));
  if (ill.length + stopped.length > 0) return [...ill, ...stopped];
  if (saysAll(host)) return [];
  const state = since === null ? "unknown" : "unhealthy";
  return [{ application: null, ...shared, ...nothing, state, since, fault: null }];
}

/** Tells whether the agent of a host names the applications that it has: since 0.3.0, which is the first to say so. */
const saysAll = ({ agent }: ReadHost): boolean => agent !== undefined && !agent.startsWith("before");

/** Returns what is wrong with unhealthy applications, by id, as the host's message tells it. */
function faultsOf({ error_message: message }: ReadHost): Map<string, string> {
  if (message?.startsWith(UNHEALTHY) !== true) return new Map();
  return new Map(
    message
      .slice(UNHEALTHY.length)
      .split("; ")
      .flatMap((part) => {
        const [, id, fault] = /^apps\/([^:]+): (.*)$/s.exec(part) ?? [];
        return id === undefined ? [] : [[id, fault!] as const];
      }),
  );
}

/** Describes an application beyond its state, for people: restarts, a job's fault. Empty for nothing to add. */
export function applicationNote({ restarts, last, fault, stale }: HostApplication): string {
  const often = restarts === null || restarts === 0 ? "" : restarts === 1 ? "1 restart" : `${restarts} restarts`;
  const job = last === null ? "" : "job";
  return [stale ? "stale" : "", job, often, fault ?? ""].filter((part) => part !== "").join("; ");
}
