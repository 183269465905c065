import { setImmediate as nextTurn } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import type { Labels } from "../../contract/labels.ts";
import {
  isHeld,
  isStale,
  lastHeard,
  shownVersion,
  STALE_MS,
  triedVersion,
} from "../../contract/surfaces/host-record.ts";
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

export type HostState = "ok" | "failed" | "held" | "silent";

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

export function stateOf(host: FleetHost, now: number): HostState {
  if (isStale({ seen_at: host.heardAt === undefined ? null : new Date(host.heardAt).toISOString() }, STALE_MS, now))
    return "silent";
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

/** Labels that a filter offers. */
const OFFERED_LABELS = 100;

interface Facets {
  /** Versions with the number of their hosts, the most frequent one first. */
  versions: readonly [string, number][];
  /** `name=value`, in order. */
  labels: readonly string[];
}

const facets = new WeakMap<readonly FleetHost[], Facets>();

/** Counts the versions and lists the labels of a fleet's hosts: once for all readers, until a host changes. */
export function facetsOf(hosts: readonly FleetHost[]): Facets {
  const known = facets.get(hosts);
  if (known !== undefined) return known;
  const counts = new Map<string, number>();
  const labels = new Set<string>();
  for (const { version, labels: own } of hosts) {
    counts.set(version, (counts.get(version) ?? 0) + 1);
    if (labels.size < OFFERED_LABELS) for (const name in own) labels.add(`${name}=${own[name]!}`);
  }
  const versions = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  const found = { versions, labels: [...labels].sort() };
  facets.set(hosts, found);
  return found;
}
