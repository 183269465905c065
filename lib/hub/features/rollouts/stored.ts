import { amountOf, percentOf } from "../../../contract/rollout-terms.ts";
import type { Halt, RolloutRecord } from "../../../contract/rollouts/records.ts";
import { gateOf } from "../../gate/stored-gate.ts";
import { wavesOf } from "../../gate/waves.ts";
import { parseWindow } from "../../gate/window.ts";
import type { FleetKey } from "../../records/fleet.ts";
import { fleetOf, subjectOf, targetOfSubject } from "../../records/subjects.ts";
import type { AwaitingRollout } from "./awaited.ts";
import type { Rules } from "./decide.ts";
import { isLive, rulesOf, statusOf, type StoredRollout } from "./records.ts";
import type { RolloutsTable } from "./tables.ts";
import type { Tallied, Tally } from "./tally.ts";

/** Returns the rules for a decision from a stored rollout. */
export function decisionRules(row: RolloutsTable): Rules {
  const { waves, soak_seconds, max_failing, min_done, window, approve } = rulesOf(row);
  return {
    version: row.version,
    labelled: waves.map((wave) => percentOf(wave) === undefined),
    soakMs: soak_seconds * 1000,
    maxFailing: amountOf(max_failing)!,
    minDone: amountOf(min_done)!,
    window: window === null ? undefined : parseWindow(window),
    approve,
  };
}

/** Returns the part of a rollout that counting its hosts needs. */
export const talliedOf = (
  row: Pick<StoredRollout, "id" | "version" | "rules" | "failures_since" | "known_changes" | "gate">,
): Tallied => ({
  id: row.id,
  version: row.version,
  waves: wavesOf(rulesOf(row).waves),
  onlyBound: rulesOf(row).bound_hosts,
  failuresSince: Date.parse(row.failures_since),
  known: Number(row.known_changes),
  kept: keptAbove(row),
});

/** Returns the versions above that of a rollout which hosts keep, so that they do not wait for it. */
function keptAbove({ gate, version }: Pick<StoredRollout, "gate" | "version">): string[] {
  if (gate === null) return [];
  const { above } = gateOf(gate);
  const own = above.findIndex((each) => each.version === version);
  return above.slice(0, Math.max(0, own)).flatMap(({ version: kept, isTakenBack }) => (isTakenBack ? [] : [kept]));
}

export const progressText = (tally: Tally): string => JSON.stringify(tally);

export const emptyProgress = (waves: number): string =>
  progressText({
    waves: Array.from({ length: waves }, () => ({ hosts: 0, done: 0, failing: 0 })),
    ...{ failing: [], waits: [], awaited: [], fresh: 0, keeping: [] },
  });

/** Returns the fleet that a rollout is judged by: the reports of its owner's own keys. */
export const fleetOfRollout = (rollout: Pick<StoredRollout, "kind" | "slug" | "owner" | "project_id">): FleetKey =>
  fleetOf({ ...rollout, id: rollout.project_id });

const timeText = (time: number | null): string | null => (time === null ? null : new Date(time).toISOString());

/**
 * Returns the progress of a rollout. A hub of 0.1.0 stored no names of hosts that it waits for, one before 0.3.0 not
 * why hosts wait.
 */
export const progressOf = ({ progress }: Pick<RolloutsTable, "progress">): Tally => ({
  ...{ awaited: [], waits: [] },
  ...(JSON.parse(progress) as Omit<Tally, "awaited" | "waits">),
});

/** Formats what halted a rollout. @param now milliseconds since 1970 */
export const haltText = (now: number, { waves, failing }: Pick<Tally, "waves" | "failing">): string => {
  const all = waves.reduce((sum, wave) => sum + wave.failing, 0);
  return JSON.stringify({ at: timeText(now)!, failing: all, hosts: [...failing] } satisfies Halt);
};

/** Returns what halted a rollout that is halted; null for any other, and where the hub that did it kept nothing. */
const haltOf = ({ state, halt }: Pick<RolloutsTable, "state" | "halt">): Halt | null =>
  state === "halted" && halt !== null ? (JSON.parse(halt) as Halt) : null;

export function rolloutRecord(row: AwaitingRollout): RolloutRecord {
  const { id, kind, slug, project_id: projectId, name, version, created_at, created_by } = row;
  const { state, reason, open, waitingFor, until, openedAt, endedAt } = statusOf(row);
  const rules = rulesOf(row);
  const { waves, failing, waits, fresh, keeping } = progressOf(row);
  const base = isLive(row) ? row.latest_version : row.base_version;
  return {
    ...{ id, target: targetOfSubject(subjectOf({ kind, slug, id: projectId })), name, version, base_version: base },
    ...{ state, reason, waiting_for: waitingFor, until: timeText(until), open },
    waves: rules.waves.map((wave, index) => ({ wave, ...waves[index]! })),
    ...{
      failing: [...failing],
      halt: haltOf(row),
      waits: [...waits],
      awaited: row.awaited,
      awaited_hosts: row.awaitedHosts,
    },
    ...{ new_hosts: fresh, keeping: [...keeping], rules, created_at, created_by },
    ...{ opened_at: timeText(openedAt), ended_at: timeText(endedAt) },
  };
}
