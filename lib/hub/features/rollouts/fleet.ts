import { setImmediate } from "node:timers/promises";
import { blamelessCause, lastHeard, runningVersion, unhealthySince } from "../../../contract/surfaces/host-record.ts";
import { type FleetKey, viewState } from "../../records/fleet.ts";
import { labelsOf, type StoredRecord } from "../../records/host-columns.ts";
import type { PreparedStatements } from "../../records/port.ts";
import { type ChangedHost, changedHosts } from "./hosts.ts";
import { FleetTally, type ReportedHost, type Tallied, type Tally } from "./tally.ts";

/**
 * Time after which all hosts are read again, in milliseconds: a poll updates when a host was last heard of, but changes
 * no view.
 */
const READ_ANEW_MS = 15 * 60 * 1000;

function reportedHost({
  host_id: id,
  record: text,
  seen_at,
  labels,
  first_change,
  is_bound,
  out_of_service,
}: ChangedHost): ReportedHost {
  const record = JSON.parse(text) as StoredRecord;
  const waits = blamelessCause(record);
  return {
    id,
    labels: labelsOf(record, labels),
    running: runningVersion(record),
    tried: record.version,
    hasFailed: record.status !== "success" && waits === undefined,
    waits,
    isUnhealthy: unhealthySince(record) !== undefined,
    error: record.error_message,
    // What a kit brought back nobody has seen before, whenever it was made.
    reportedAt: Date.parse(record.by_kit?.back_at ?? record.created_at),
    // Not the host's own clock.
    heardAt: lastHeard({ created_at: record.created_at, seen_at }) ?? 0,
    firstChange: Number(first_change),
    isBound: Number(is_bound) === 1,
    isNamed: seen_at !== null,
    isOut: out_of_service !== null,
    isByKit: record.by_kit !== undefined && (seen_at === null || seen_at < record.by_kit.back_at),
  };
}

/** Fleet of a rollout, kept in memory: an update costs as much as has changed. */
export class RolloutFleet {
  readonly #statements: PreparedStatements;
  readonly #view: FleetKey;
  readonly #rollout: Tallied;
  #tally: FleetTally;
  #cursor = 0;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(statements: PreparedStatements, view: FleetKey, rollout: Tallied) {
    this.#statements = statements;
    this.#view = view;
    this.#rollout = rollout;
    this.#tally = new FleetTally(rollout);
  }

  /** Counts the hosts as of now. @param now milliseconds since 1970 @param open number of open waves */
  async at(now: number, open: number): Promise<Tally> {
    const { changes, forgotten } = await viewState(this.#statements, this.#view);
    if (forgotten > this.#cursor || now - this.#readAt > READ_ANEW_MS) {
      this.#tally = new FleetTally(this.#rollout);
      this.#cursor = 0;
      this.#readAt = now;
    }
    if (changes > this.#cursor) {
      for await (const page of changedHosts(this.#statements, this.#view, this.#cursor)) {
        for (const row of page) this.#tally.set(reportedHost(row));
        this.#cursor = Number(page.at(-1)!.change);
        // A large fleet must not block requests.
        await setImmediate();
      }
      this.#cursor = Math.max(this.#cursor, changes);
    }
    return this.#tally.at(now, open);
  }
}
