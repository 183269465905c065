import type { AwaitedHost, WaveCounts } from "../../../contract/rollouts/records.ts";
import { blamelessCause, lastHeard, runningVersion } from "../../../contract/surfaces/host-record.ts";
import type { StoredRecord } from "../../records/host-columns.ts";
import type { Queries } from "../../records/port.ts";
import { selectWhere } from "../../records/rows.ts";
import { statusOf, type StoredRollout } from "./records.ts";
import { fleetOfRollout, progressOf } from "./stored.ts";

/** Rollout with the hosts that it waits for. */
export interface AwaitingRollout extends StoredRollout {
  awaited: AwaitedHost[];
  awaitedHosts: number;
}

/** Adds the hosts that a rollout waits for, as the fleet has them now. */
export async function withAwaited(db: Queries, row: StoredRollout): Promise<AwaitingRollout> {
  const { state, waitingFor, open } = statusOf(row);
  if (state !== "running" || waitingFor !== "hosts") return { ...row, awaited: [], awaitedHosts: 0 };
  const { awaited: ids, waves } = progressOf(row);
  // A labelled wave without hosts waits for one that nobody knows; PostgreSQL takes no empty list.
  if (ids.length === 0) return { ...row, awaited: [], awaitedHosts: countOf(waves, open) };
  const { holder, target } = fleetOfRollout(row);
  const hosts = await selectWhere(db, "hosts", { holder, target })
    .where("host_id", "in", [...ids])
    .select(["host_id", "record", "seen_at"])
    .execute();
  const installed = await selectWhere(db, "reports", { holder, target, version: row.version, status: "success" })
    .where("host_id", "in", [...ids])
    .select("host_id")
    .distinct()
    .execute();
  const hasInstalled = new Set(installed.map(({ host_id: id }) => id));
  const awaited = hosts.map(({ host_id, record: text, seen_at }): AwaitedHost & { heardAt: number } => {
    const record = JSON.parse(text) as StoredRecord;
    // Not the host's own clock.
    const heardAt = lastHeard({ created_at: record.created_at, seen_at }) ?? 0;
    const running = runningVersion(record) ?? null;
    const waits = (record.version === row.version && blamelessCause(record)) || null;
    return {
      ...{ host_id, running_version: running, has_installed: hasInstalled.has(host_id) },
      ...{ last_heard_at: new Date(heardAt).toISOString(), heardAt },
      ...{ waits, error_message: waits && record.error_message },
    };
  });
  awaited.sort((a, b) => a.heardAt - b.heardAt || (a.host_id < b.host_id ? -1 : 1));
  return { ...row, awaited: awaited.map(({ heardAt: _, ...host }) => host), awaitedHosts: countOf(waves, open) };
}

const countOf = (waves: readonly WaveCounts[], open: number): number =>
  waves.slice(0, open).reduce((sum, { hosts, done, failing }) => sum + hosts - done - failing, 0);
