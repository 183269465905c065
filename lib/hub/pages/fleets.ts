import { setImmediate as nextTurn } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import type { Labels } from "../../contract/labels.ts";
import { isHeld, lastHeard, shownVersion, STALE_MS, triedVersion } from "../../contract/surfaces/host-record.ts";
import type { DeploymentStatus } from "../../contract/surfaces/reports.ts";
import { hostPages, type HostRow, type View, viewState } from "../records/fleet.ts";
import type { Statements } from "../records/port.ts";
import type { HostRecord } from "../rollouts/fleet.ts";

/** Hosts of all fleets that are kept in memory; a larger fleet is read for each page. */
const KEPT_HOSTS = 20_000;
/** A poll says when a host was heard of, and changes no view: after this time all hosts are read anew. */
const READ_ANEW_MS = 15 * 60 * 1000;
/** Characters of an error that lists show. */
const ERROR_CHARACTERS = 200;

/** States of hosts, in the order of lists: those first that need somebody. */
const HOST_STATES = ["failed", "held", "ok", "silent"] as const;
export type HostState = (typeof HOST_STATES)[number];

/** A host as lists show it. */
export interface FleetHost {
  id: string;
  /** The version that runs, or words in its place. */
  version: string;
  /** The version whose deployment failed, where another one runs. */
  tried: string | null;
  status: DeploymentStatus;
  held: boolean;
  error: string | null;
  completedAt: string | null;
  /** Milliseconds since 1970; undefined when nobody knows. */
  heardAt: number | undefined;
  labels: Labels;
}

interface Fleet {
  changes: number;
  forgotten: number;
  /** In the order of the hosts' ids, as `sorted`. */
  hosts: Map<string, FleetHost>;
  sorted: readonly FleetHost[];
}

/** @param now milliseconds since 1970 */
export function stateOf(host: FleetHost, now: number): HostState {
  if (now - (host.heardAt ?? now) > STALE_MS) return "silent";
  if (host.held) return "held";
  return host.status === "success" ? "ok" : "failed";
}

/** Reads fleets for pages. A look at a fleet that is kept costs what has changed since the one before. */
export class Fleets {
  readonly #statements: Statements;
  readonly #kept = new LRUCache<string, Fleet>({
    maxSize: KEPT_HOSTS,
    sizeCalculation: ({ hosts }) => hosts.size + 1,
    ttl: READ_ANEW_MS,
    noUpdateTTL: true,
  });

  /** The looks under way: readers that come together share one. */
  readonly #looks = new Map<string, Promise<readonly FleetHost[]>>();

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  /** Returns the hosts of a view in the order of their ids; the caller may see the view. */
  hosts(view: View): Promise<readonly FleetHost[]> {
    const key = JSON.stringify([view.holder, view.target]);
    let look = this.#looks.get(key);
    if (look === undefined) {
      look = this.#look(key, view).finally(() => this.#looks.delete(key));
      this.#looks.set(key, look);
    }
    return look;
  }

  async #look(key: string, view: View): Promise<readonly FleetHost[]> {
    const { changes, forgotten } = await viewState(this.#statements, view);
    const known = this.#kept.get(key);
    const isUsable = known !== undefined && known.changes <= changes && known.forgotten === forgotten;
    if (isUsable && known.changes === changes) return known.sorted;
    let hosts = isUsable ? known.hosts : new Map<string, FleetHost>();
    const { size } = hosts;
    for await (const page of hostPages(this.#statements, view, isUsable ? known.changes : 0)) {
      for (const row of page) hosts.set(row.host_id, hostOf(row));
      await nextTurn();
    }
    // A map keeps the place of a host that reports again.
    if (hosts.size !== size) hosts = new Map([...hosts].sort(([a], [b]) => (a < b ? -1 : 1)));
    const sorted = [...hosts.values()];
    this.#kept.set(key, { changes, forgotten, hosts, sorted });
    return sorted;
  }

  /** Returns one host of a view; undefined when the view has no such host. */
  async host(view: View, id: string): Promise<FleetHost | undefined> {
    return (await this.hosts(view)).find((host) => host.id === id);
  }
}

function hostOf(row: HostRow): FleetHost {
  const record = JSON.parse(row.record) as HostRecord;
  return {
    id: row.host_id,
    version: shownVersion(record),
    tried: triedVersion(record),
    status: record.status,
    held: isHeld(record),
    error: record.error_message?.slice(0, ERROR_CHARACTERS) ?? null,
    completedAt: record.completed_at,
    heardAt: lastHeard({ created_at: record.created_at, seen_at: row.seen_at }),
    labels: row.labels === null ? (record.labels ?? {}) : (JSON.parse(row.labels) as Labels),
  };
}

/** The hosts that a page asks for. */
export interface FleetFilter {
  version: string;
  /** `name=value`. */
  label: string;
  state: string;
  /** A part of the host's id. */
  text: string;
}

export function filtered(hosts: readonly FleetHost[], filter: FleetFilter, now: number): readonly FleetHost[] {
  const [name = "", value] = filter.label.split("=", 2);
  return hosts.filter(
    (host) =>
      (filter.version === "" || host.version === filter.version) &&
      (filter.label === "" || (value === undefined ? name in host.labels : host.labels[name] === value)) &&
      (filter.state === "" || stateOf(host, now) === filter.state) &&
      (filter.text === "" || host.id.toLowerCase().includes(filter.text.toLowerCase())),
  );
}

/** A page of a fleet's hosts, those first that fail. */
interface HostPage {
  shown: readonly FleetHost[];
  /** The cursor of the next page. */
  next: string | undefined;
}

/** Returns the hosts behind a cursor: by state, then by id. A cursor names both, and holds when hosts come and go. */
export function pageOfHosts(
  hosts: readonly FleetHost[],
  { after, limit, now }: { after: string; limit: number; now: number },
): HostPage {
  const byState = Map.groupBy(hosts, (host) => stateOf(host, now));
  const [last, id = ""] = after.split(/:(.*)/s, 2);
  const at = HOST_STATES.indexOf(last as HostState);
  const shown: FleetHost[] = [];
  for (const [rank, state] of HOST_STATES.entries()) {
    if (rank < at) continue;
    for (const host of byState.get(state) ?? []) {
      if (rank === at && host.id <= id) continue;
      if (shown.length === limit) {
        const end = shown.at(-1)!;
        return { shown, next: `${stateOf(end, now)}:${end.id}` };
      }
      shown.push(host);
    }
  }
  return { shown, next: undefined };
}

/** The hosts of a version, and how many of them fail. */
export interface VersionCount {
  version: string;
  hosts: number;
  failing: number;
}

interface FleetCounts {
  states: Record<HostState, number>;
  /** The most frequent one first. */
  versions: readonly VersionCount[];
}

/** Counts the hosts of a fleet by state and by version. */
export function countsOf(hosts: readonly FleetHost[], now: number): FleetCounts {
  const states = { failed: 0, held: 0, ok: 0, silent: 0 };
  const counts = new Map<string, VersionCount>();
  for (const host of hosts) {
    const state = stateOf(host, now);
    states[state] += 1;
    const { version } = host;
    let count = counts.get(version);
    if (count === undefined) counts.set(version, (count = { version, hosts: 0, failing: 0 }));
    count.hosts += 1;
    if (state === "failed") count.failing += 1;
  }
  const versions = [...counts.values()].sort((a, b) => b.hosts - a.hosts || (a.version < b.version ? -1 : 1));
  return { states, versions };
}

/** Labels that a filter offers. */
const OFFERED_LABELS = 100;

const labels = new WeakMap<readonly FleetHost[], readonly string[]>();

/** Lists the labels of a fleet's hosts as `name=value`, in order: once for all readers, until a host changes. */
export function labelsOf(hosts: readonly FleetHost[]): readonly string[] {
  const known = labels.get(hosts);
  if (known !== undefined) return known;
  const found = new Set<string>();
  for (const { labels: own } of hosts) {
    if (found.size >= OFFERED_LABELS) break;
    for (const name in own) found.add(`${name}=${own[name]!}`);
  }
  const sorted = [...found].sort();
  labels.set(hosts, sorted);
  return sorted;
}
