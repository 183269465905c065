import { LRUCache } from "lru-cache";
import { type FleetKey, viewState } from "../records/fleet.ts";
import type { PreparedStatements } from "../records/port.ts";

interface FleetCacheOptions<T> {
  /** Most fleets whose results are cached. */
  max: number;
  /** Longest time for which a result is cached, in milliseconds: it may change with time alone. */
  keptMs: number;
  /** Hosts beyond which a fleet takes long to read, and the age that its result may have despite reports since. */
  large: { hosts: number; keptMs: number };
  /** Names the time in which a result counts, such as a day; without it there is one. */
  period?: (now: number) => string;
  /** Reads a result, with the number of hosts that it is of. @param now milliseconds since 1970 */
  read: (view: FleetKey, now: number) => Promise<{ result: T; hosts: number }>;
}

interface Cached<T> {
  result: T;
  hosts: number;
  /** State of the fleet that the result is of. */
  changes: number;
  /** Milliseconds since 1970. */
  readAt: number;
}

/** Results that take a whole fleet to compute: read once for all readers, until a host reports. */
export class FleetCache<T> {
  readonly #statements: PreparedStatements;
  readonly #options: FleetCacheOptions<T>;
  readonly #cached: LRUCache<string, Cached<T>>;
  /** Reads under way, shared by concurrent readers. */
  readonly #underWay = new Map<string, Promise<T>>();

  constructor(statements: PreparedStatements, options: FleetCacheOptions<T>) {
    this.#statements = statements;
    this.#options = options;
    this.#cached = new LRUCache({ max: options.max });
  }

  /** Returns the result of a fleet; the caller must be allowed to see the view. @param now milliseconds since 1970 */
  of(view: FleetKey, now: number): Promise<T> {
    const key = JSON.stringify([view.holder, view.target, this.#options.period?.(now)]);
    let reading = this.#underWay.get(key);
    if (reading === undefined) {
      reading = this.#of(key, view, now).finally(() => this.#underWay.delete(key));
      this.#underWay.set(key, reading);
    }
    return reading;
  }

  async #of(key: string, view: FleetKey, now: number): Promise<T> {
    const { keptMs, large, read } = this.#options;
    const { changes } = await viewState(this.#statements, view);
    const cached = this.#cached.get(key);
    if (cached !== undefined) {
      const age = Math.abs(now - cached.readAt);
      const mayLag = cached.hosts > large.hosts && age < large.keptMs;
      if (mayLag || (cached.changes === changes && age < keptMs)) return cached.result;
    }
    const { result, hosts } = await read(view, now);
    this.#cached.set(key, { result, hosts, changes, readAt: now });
    return result;
  }
}
