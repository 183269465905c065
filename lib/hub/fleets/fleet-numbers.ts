import { LRUCache } from "lru-cache";
import type { FleetCounts } from "../../contract/surfaces/reports.ts";
import { type FleetKey, viewState } from "../records/fleet.ts";
import { countHosts } from "../records/fleet-pages.ts";
import type { PreparedStatements } from "../records/port.ts";
import { silentBefore } from "./fleet-view.ts";

/** Most fleets whose numbers are cached. */
const KEPT_FLEETS = 500;
/**
 * Longest time for which numbers are cached, in milliseconds: polls and time change states without changing the view.
 */
const KEPT_MS = 30_000;
/**
 * Number of hosts from which a fleet is slow to count: its numbers may be this old, though hosts have reported since.
 */
const LARGE_HOSTS = 5000;
const LARGE_KEPT_MS = 2000;

interface ReadCounts {
  changes: number;
  /** Milliseconds since 1970. */
  countedAt: number;
  counts: FleetCounts;
}

/** Numbers of fleets, counted once for all readers until a host changes. */
export class FleetNumbers {
  readonly #statements: PreparedStatements;
  readonly #kept = new LRUCache<string, ReadCounts>({ max: KEPT_FLEETS });
  /** Counts under way, shared by concurrent readers. */
  readonly #underWay = new Map<string, Promise<FleetCounts>>();

  constructor(statements: PreparedStatements) {
    this.#statements = statements;
  }

  /** Counts the hosts of a view; the caller may see it. @param now milliseconds since 1970 */
  count(view: FleetKey, now: number): Promise<FleetCounts> {
    const key = JSON.stringify([view.holder, view.target]);
    let counting = this.#underWay.get(key);
    if (counting === undefined) {
      counting = this.#count(key, view, now).finally(() => this.#underWay.delete(key));
      this.#underWay.set(key, counting);
    }
    return counting;
  }

  async #count(key: string, view: FleetKey, now: number): Promise<FleetCounts> {
    const { changes } = await viewState(this.#statements, view);
    const kept = this.#kept.get(key);
    if (kept !== undefined) {
      const age = Math.abs(now - kept.countedAt);
      const mayLag = kept.counts.hosts > LARGE_HOSTS && age < LARGE_KEPT_MS;
      if (mayLag || (kept.changes === changes && age < KEPT_MS)) return kept.counts;
    }
    const counts = await countHosts(this.#statements, view, silentBefore(now));
    this.#kept.set(key, { changes, countedAt: now, counts });
    return counts;
  }
}
