import { setImmediate } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import { ADOPTION_DAYS, type FleetAdoption } from "../../contract/fleets/adoption.ts";
import { readDeployments } from "../records/deployments.ts";
import { type FleetKey, viewState } from "../records/fleet.ts";
import type { PreparedStatements } from "../records/port.ts";

const DAY_MS = 86_400_000;
/** Most fleets whose days are cached. */
const KEPT_FLEETS = 100;
/** Number of hosts beyond which a fleet takes long to read, so that its days may be {@link LARGE_KEPT_MS} old. */
const LARGE_HOSTS = 1000;
const LARGE_KEPT_MS = 60_000;

interface ReadAdoption {
  changes: number;
  hosts: number;
  /** Milliseconds since 1970. */
  readAt: number;
  adoption: FleetAdoption;
}

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** Versions of fleets day by day, read once for all readers until a host reports. */
export class FleetAdoptions {
  readonly #statements: PreparedStatements;
  readonly #kept = new LRUCache<string, ReadAdoption>({ max: KEPT_FLEETS });

  constructor(statements: PreparedStatements) {
    this.#statements = statements;
  }

  /** Returns the adoption of a fleet; the caller must be allowed to see the view. @param now milliseconds since 1970 */
  async of(view: FleetKey, now: number): Promise<FleetAdoption> {
    const key = JSON.stringify([view.holder, view.target]);
    const { changes } = await viewState(this.#statements, view);
    const kept = this.#kept.get(key);
    if (kept !== undefined && dayOf(kept.readAt) === dayOf(now)) {
      const mayLag = kept.hosts > LARGE_HOSTS && Math.abs(now - kept.readAt) < LARGE_KEPT_MS;
      if (mayLag || kept.changes === changes) return kept.adoption;
    }
    const { adoption, hosts } = await this.#read(view, now);
    this.#kept.set(key, { changes, hosts, readAt: now, adoption });
    return adoption;
  }

  async #read(view: FleetKey, now: number): Promise<{ adoption: FleetAdoption; hosts: number }> {
    const first = Date.parse(dayOf(now)) - (ADOPTION_DAYS - 1) * DAY_MS;
    const { reports, before, isCut } = await readDeployments(this.#statements, view, first);
    // Hosts that have left the fleet do not count.
    const running = new Map<string, string>();
    for (const [host, version] of before) if (version !== null) running.set(host, version);
    const cutDay = isCut ? dayOf(Date.parse(reports[0]!.created_at)) : "";
    const days: FleetAdoption["days"] = [];
    let next = 0;
    for (let time = first; time <= now; time += DAY_MS) {
      const day = dayOf(time);
      const failing = new Set<string>();
      for (; next < reports.length && reports[next]!.created_at.slice(0, 10) <= day; next++) {
        const { host_id: host, version, status } = reports[next]!;
        if (!before.has(host)) continue;
        if (status === "success") running.set(host, version);
        else failing.add(host);
      }
      if (day > cutDay) days.push({ day, versions: countsOf(running), failing: failing.size });
      await setImmediate();
    }
    return { adoption: { days }, hosts: before.size };
  }
}

/** Counts hosts by version, the most frequent first. */
function countsOf(running: ReadonlyMap<string, string>): { version: string; hosts: number }[] {
  const counts = new Map<string, number>();
  for (const version of running.values()) counts.set(version, (counts.get(version) ?? 0) + 1);
  return [...counts]
    .map(([version, hosts]) => ({ version, hosts }))
    .toSorted((a, b) => b.hosts - a.hosts || (a.version < b.version ? -1 : 1));
}
