import type { FleetHost } from "../client/fleet.ts";
import { hostNotes, type HostView, hostView } from "../contract/facts/host-shown.ts";
import type { FleetAdoption } from "../contract/fleets/adoption.ts";
import {
  isInTrouble,
  isStale,
  STALE_MS,
  stoppedText,
  troubleOf,
  unhealthyText,
  WAIT_WORDS,
} from "../contract/surfaces/host-record.ts";
import type { DeploymentStatus } from "../contract/surfaces/reports.ts";
import { naturally } from "../support/natural-order.ts";
import { printable } from "../support/printable.ts";

/** Host in compact form: a fleet may have a hundred thousand. */
export interface HostRow extends HostView {
  id: string;
  status: DeploymentStatus;
  /** Milliseconds since 1970, or 0 if unknown. */
  at: number;
  /** Further words: out of service, state of its settings; empty for none. */
  notes: string;
  /** Whether it has been silent for so long that it is counted apart. */
  stale: boolean;
}

export const FLEET_FILTERS = ["all", "failing", "not latest", "stale"] as const;
export type FleetFilter = (typeof FLEET_FILTERS)[number];

/** Orders of hosts: failing ones first, by id, by version, or by the time of the last report, most recent first. */
export const HOST_ORDERS = ["failing", "name", "version", "report"] as const;
export type HostOrder = (typeof HOST_ORDERS)[number];

export interface FleetQuery {
  /** Part of a host id, a version or an error. */
  search: string;
  filter: FleetFilter;
  /** Order of hosts. Default: failing ones first. */
  order?: HostOrder;
  /** Version that "not latest" compares with. */
  latest: string | null;
}

export interface VersionShare {
  version: string;
  hosts: number;
  failing: number;
}

/** Returns the word for the result of a host's last deployment. */
export const statusText = ({
  status,
  waits,
  stale,
  unhealthySince: since,
}: Pick<HostRow, "status" | "waits" | "stale" | "unhealthySince">): string => {
  if (stale) return "stale";
  if (since !== undefined) return "unhealthy";
  return waits !== undefined ? WAIT_WORDS[waits] : status === "rolled_back" ? "rolled back" : status;
};

/** Returns the trouble of a host in one line. @param timeText formats milliseconds since 1970 */
export function hostTrouble(row: HostRow, timeText: (at: number) => string): string {
  const { unhealthySince: since, error } = row;
  const told =
    since === undefined ? undefined : { error_message: error, health: { state: "unhealthy" as const, since } };
  return (told && unhealthyText(told, (time) => timeText(Date.parse(time)))) ?? troubleOf(row);
}

/** Longest error text, in characters, shown in one line. */
const ERROR_LENGTH = 300;

/** Hosts of one target, searchable, ordered by name. */
export class FleetModel {
  /** Incremented by every change. */
  revision = 0;
  /** True when everything that the hub knew was read once. */
  complete = false;
  error: string | undefined;
  /** Numbers of the last days, once the hub has sent them. */
  adoption: FleetAdoption | undefined;
  readonly #hosts = new Map<string, HostRow>();
  #order: HostRow[] = [];
  #texts = new Map<string, string>();
  #failing = 0;
  #stale = 0;
  readonly #staleMs: number;
  #versions = new Map<string, VersionShare>();
  #found: { key: string; rows: readonly HostRow[] } | undefined;

  /** @param staleMs silence after which a host is counted separately, in milliseconds */
  constructor(staleMs = STALE_MS) {
    this.#staleMs = staleMs;
  }

  /** Number of live hosts; {@link stale} counts the others. */
  get size(): number {
    return this.#order.length - this.#stale;
  }

  get stale(): number {
    return this.#stale;
  }

  get failing(): number {
    return this.#failing;
  }

  /** Adds or updates hosts. */
  apply(hosts: readonly FleetHost[], now = Date.now()): void {
    const fresh: HostRow[] = [];
    for (const host of hosts) {
      const { version, tried, error, signer, unhealthySince, waits } = hostView(host);
      const trouble = [error, stoppedText(host)].filter(Boolean).join("; ");
      const row: HostRow = {
        id: owned(host.host_id),
        version: this.#shared(version),
        tried: tried === null ? null : this.#shared(tried),
        status: statusOf(host, unhealthySince !== undefined, (text) => this.#shared(text)),
        at: Date.parse(host.completed_at ?? "") || 0,
        error: trouble === "" ? null : this.#shared(printable(trouble).slice(0, ERROR_LENGTH)),
        signer: signer && this.#shared(signer),
        waits,
        notes: this.#shared(printable(hostNotes(host))),
        stale: isStale(host, this.#staleMs, now),
        unhealthySince,
      };
      const before = this.#hosts.get(row.id);
      if (before === undefined) {
        this.#hosts.set(row.id, row);
        this.#count(row, 1);
        fresh.push(row);
      } else {
        this.#count(before, -1);
        Object.assign(before, row);
        this.#count(before, 1);
      }
    }
    if (fresh.length > 0) this.#order = merged(this.#order, fresh.toSorted(byId));
    this.revision++;
  }

  /** Removes every host: the hub sends all of them again. */
  clear(): void {
    this.#hosts.clear();
    this.#order = [];
    this.#versions.clear();
    this.#failing = 0;
    this.#stale = 0;
    this.complete = false;
    this.revision++;
  }

  /** Returns the versions, most hosts first. */
  versions(): VersionShare[] {
    return [...this.#versions.values()].filter(({ hosts }) => hosts > 0).toSorted((a, b) => b.hosts - a.hosts);
  }

  /** Returns the hosts that match a query, in its order, and then by name. */
  rows(query: FleetQuery): readonly HostRow[] {
    const key = JSON.stringify([this.revision, query]);
    if (this.#found?.key === key) return this.#found.rows;
    const search = query.search.toLowerCase();
    const failing: HostRow[] = [];
    const others: HostRow[] = [];
    const stale: HostRow[] = [];
    for (const row of this.#order) {
      if (row.stale ? query.filter !== "all" && query.filter !== "stale" : query.filter === "stale") continue;
      const fails = row.status !== "success";
      if (query.filter === "failing" && !fails) continue;
      if (query.filter === "not latest" && row.version === query.latest) continue;
      if (search !== "" && !matches(row, search)) continue;
      if (row.stale) stale.push(row);
      else (fails && (query.order ?? "failing") === "failing" ? failing : others).push(row);
    }
    const living = ordered(failing, others, query.order);
    const rows = stale.length === 0 ? living : living.concat(ordered([], stale, query.order));
    this.#found = { key, rows };
    return rows;
  }

  #count(row: HostRow, by: 1 | -1): void {
    if (row.stale) {
      this.#stale += by;
      return;
    }
    const share = this.#versions.get(row.version) ?? { version: row.version, hosts: 0, failing: 0 };
    share.hosts += by;
    if (row.status !== "success" && row.waits === undefined) {
      share.failing += by;
      this.#failing += by;
    }
    this.#versions.set(row.version, share);
  }

  /** Returns the one copy of a text that many hosts share: versions, statuses, repeated errors. */
  #shared(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#texts.size > 10_000) this.#texts.clear();
    const kept = owned(text);
    this.#texts.set(kept, kept);
    return kept;
  }
}

/** Returns the status that a host counts with. */
function statusOf(host: FleetHost, isUnhealthy: boolean, shared: (text: string) => string): DeploymentStatus {
  if (isUnhealthy) return "failed";
  return isInTrouble(host) ? (shared(host.status) as DeploymentStatus) : "success";
}

const byId = (a: HostRow, b: HostRow): number => naturally(a.id, b.id);

/** Returns two ordered lists as one. */
function merged(a: HostRow[], b: readonly HostRow[]): HostRow[] {
  if (a.length === 0 || byId(a.at(-1)!, b[0]!) < 0) return a.concat(b);
  const all: HostRow[] = [];
  let at = 0;
  for (const row of a) {
    while (at < b.length && byId(b[at]!, row) < 0) all.push(b[at++]!);
    all.push(row);
  }
  return all.concat(b.slice(at));
}

/** @param others ordered by name */
function ordered(failing: HostRow[], others: HostRow[], order: HostOrder = "failing"): readonly HostRow[] {
  if (order === "version") return others.toSorted((a, b) => naturally(a.version, b.version));
  if (order === "report") return others.toSorted((a, b) => b.at - a.at);
  return failing.length === 0 ? others : failing.concat(others);
}

/** Copies a text: otherwise V8 would keep the piece of the answer that the parser has cut it from. */
const owned = (text: string): string => Buffer.from(text).toString();

const matches = (row: HostRow, search: string): boolean =>
  row.id.toLowerCase().includes(search) ||
  row.version.toLowerCase().includes(search) ||
  (row.tried !== null && row.tried.toLowerCase().includes(search)) ||
  row.status.includes(search) ||
  (row.error !== null && row.error.toLowerCase().includes(search)) ||
  row.notes.toLowerCase().includes(search);
