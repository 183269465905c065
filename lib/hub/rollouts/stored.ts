import { LRUCache } from "lru-cache";
import { amountOf } from "../../contract/rollout-terms.ts";
import {
  type FailingHost,
  type RolloutRecord,
  type RolloutRules,
  type WaveCounts,
} from "../../contract/surfaces/rollouts.ts";
import type { View } from "../records/fleet.ts";
import { loggedTarget } from "../records/reports.ts";
import type { RolloutsTable } from "../records/rollout-tables.ts";
import type { StoredRollout } from "../records/rollouts.ts";
import type { Gate } from "./answer.ts";
import type { Rules, Standing } from "./decide.ts";
import type { Tallied, Tally } from "./tally.ts";
import { wavesOf } from "./waves.ts";
import { parseWindow } from "./window.ts";

/** A rollout between its row and the functions that decide. */

/** Times as the row keeps them: milliseconds since 1970. */
type KeptStanding = Omit<Standing, "state">;

export const rulesOf = ({ rules }: Pick<RolloutsTable, "rules">): RolloutRules => JSON.parse(rules) as RolloutRules;

const windowOf = (window: string | null) => (window === null ? undefined : parseWindow(window));

export function decisionRules(row: RolloutsTable): Rules {
  const { waves, soak_seconds, max_failing, min_done, window, approve } = rulesOf(row);
  return {
    version: row.version,
    waves: waves.length,
    soakMs: soak_seconds * 1000,
    maxFailing: amountOf(max_failing)!,
    minDone: amountOf(min_done)!,
    window: windowOf(window),
    approve,
  };
}

export const standingOf = ({ state, standing }: RolloutsTable): Standing => ({
  ...(JSON.parse(standing) as KeptStanding),
  state,
});

export const FIRST_STANDING: Standing = {
  ...{ state: "running", reason: null, open: 0, openedAt: null, soakingSince: null, approved: 0 },
  ...{ waitingFor: null, until: null, endedAt: null },
};

/** The columns of a standing. */
export function standingColumns({ state, ...standing }: Standing): Pick<RolloutsTable, "state" | "standing"> {
  return { state, standing: JSON.stringify(standing) };
}

export const talliedOf = (row: RolloutsTable): Tallied => ({
  id: row.id,
  version: row.version,
  waves: wavesOf(rulesOf(row).waves),
  failuresSince: Date.parse(row.failures_since),
});

export const progressText = ({ waves, failing }: Tally): string => JSON.stringify({ waves, failing });

export const emptyProgress = (waves: number): string =>
  progressText({ waves: Array.from({ length: waves }, () => ({ hosts: 0, done: 0, failing: 0 })), failing: [] });

/** A target as rollouts name it. */
export type NamedTarget = Pick<StoredRollout, "kind" | "slug" | "owner" | "project_id">;

/** The fleet that a rollout is judged by: the reports of its owner's own keys. */
export const viewOf = ({ kind, slug, owner, project_id: id }: NamedTarget): View =>
  kind === "project" ? { holder: "", target: id } : { holder: owner, target: loggedTarget(kind, slug) };

/** A gate as its project's row keeps it. */
interface KeptGate {
  id: string;
  version: string;
  base: string | null;
  state: Gate["state"];
  waves: string[];
  open: number;
  window: string | null;
  withdrawn: boolean;
}

/** Returns the gate of a rollout as its project's row keeps it; null when everyone may have the version. */
export function gateText(row: RolloutsTable): string | null {
  const { id, version, base_version: base, state, is_withdrawn: withdrawn } = row;
  if (state === "completed" || state === "replaced") return null;
  const { waves, window } = rulesOf(row);
  const { open } = standingOf(row);
  const gate: KeptGate = { id, version, base, state, waves, open, window, withdrawn: withdrawn !== 0 };
  return JSON.stringify(gate);
}

/** Each poll of a target with a rollout asks for its gate. */
const gates = new LRUCache<string, Gate>({ max: 1000 });

export function gateOf(text: string): Gate {
  let gate = gates.get(text);
  if (gate === undefined) {
    const { waves, window, withdrawn, ...rest } = JSON.parse(text) as KeptGate;
    gate = { ...rest, waves: wavesOf(waves), window: windowOf(window), isWithdrawn: withdrawn };
    gates.set(text, gate);
  }
  return gate;
}

const timeText = (time: number | null): string | null => (time === null ? null : new Date(time).toISOString());

export function rolloutRecord(row: StoredRollout): RolloutRecord {
  const { id, kind, slug, project_id: projectId, version, base_version, created_at, created_by } = row;
  const { state, reason, open, waitingFor, until, openedAt, endedAt } = standingOf(row);
  const rules = rulesOf(row);
  const { waves, failing } = JSON.parse(row.progress) as { waves: WaveCounts[]; failing: FailingHost[] };
  return {
    ...{ id, target: kind === "project" ? `project:${projectId}` : `${kind}:${slug}`, version, base_version },
    ...{ state, reason, waiting_for: waitingFor, until: timeText(until), open },
    waves: rules.waves.map((wave, index) => ({ wave, ...waves[index]! })),
    ...{ failing, rules, created_at, created_by },
    ...{ opened_at: timeText(openedAt), ended_at: timeText(endedAt) },
  };
}
