import { setImmediate } from "node:timers/promises";
import { ADOPTION_DAYS, type FleetAdoption } from "../../contract/fleets/adoption.ts";
import { isFailing } from "../../contract/surfaces/host-record.ts";
import { readDeployments } from "../records/deployments.ts";
import type { FleetKey } from "../records/fleet.ts";
import type { StoredRecord } from "../records/host-columns.ts";
import type { PreparedStatements } from "../records/port.ts";
import { FleetCache } from "./fleet-cache.ts";

const DAY_MS = 86_400_000;

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** Returns the versions of fleets day by day. */
export const fleetAdoptions = (statements: PreparedStatements): FleetCache<FleetAdoption> =>
  new FleetCache(statements, {
    max: 100,
    keptMs: DAY_MS,
    large: { hosts: 1000, keptMs: 60_000 },
    period: dayOf,
    read: (view, now) => readAdoption(statements, view, now),
  });

async function readAdoption(
  statements: PreparedStatements,
  view: FleetKey,
  now: number,
): Promise<{ result: FleetAdoption; hosts: number }> {
  const first = Date.parse(dayOf(now)) - (ADOPTION_DAYS - 1) * DAY_MS;
  const { reports, before, isCut } = await readDeployments(statements, view, first);
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
      const { host_id: host, version, status, record } = reports[next]!;
      if (!before.has(host)) continue;
      if (status === "success") running.set(host, version);
      else if (record === null || isFailing(JSON.parse(record) as StoredRecord)) failing.add(host);
    }
    if (day > cutDay) days.push({ day, versions: countsOf(running), failing: failing.size });
    await setImmediate();
  }
  return { result: { days }, hosts: before.size };
}

/** Counts hosts by version, the most frequent first. */
function countsOf(running: ReadonlyMap<string, string>): { version: string; hosts: number }[] {
  const counts = new Map<string, number>();
  for (const version of running.values()) counts.set(version, (counts.get(version) ?? 0) + 1);
  return [...counts]
    .map(([version, hosts]) => ({ version, hosts }))
    .toSorted((a, b) => b.hosts - a.hosts || (a.version < b.version ? -1 : 1));
}
