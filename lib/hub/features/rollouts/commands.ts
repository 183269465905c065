import { ROLLOUT_DEFAULTS } from "../../../contract/rollout-terms.ts";
import type { RolloutAction, RolloutChange, RolloutRequest, RolloutRules } from "../../../contract/rollouts/records.ts";
import { conflict, type HubError, notFound, unprocessable } from "../../base/errors.ts";
import { recordId } from "../../base/identity.ts";
import { readNewWindow } from "../../gate/window.ts";
import { bestOpen, changeTarget, ranksAbove } from "../../records/latest/change-target.ts";
import { hold, roll, type TargetRow } from "../../records/latest/states.ts";
import type { Transacted } from "../../records/port.ts";
import type { Project } from "../../records/projects.ts";
import { fleetOf } from "../../records/subjects.ts";
import { needsHost } from "./decide.ts";
import { changesOf } from "./hosts.ts";
import { requireHostsOfLabels } from "./label-waves.ts";
import {
  endRollout,
  findLiveRollout,
  findRollout,
  FIRST_STATUS,
  insertRollout,
  isLive,
  overrideRollout,
  statusColumns,
  statusOf,
  type StoredRollout,
  versionFate,
} from "./records.ts";
import { decisionRules, emptyProgress, progressOf } from "./stored.ts";
import type { RolloutsTable } from "./tables.ts";

/** Actions of people on rollouts; each call is part of a transaction. */

function rulesFrom(request: RolloutRequest): RolloutRules {
  const { window = null } = request;
  try {
    if (window !== null) readNewWindow(window);
  } catch (error) {
    throw unprocessable(`window: ${(error as Error).message}.`);
  }
  return {
    waves: request.waves ?? [...ROLLOUT_DEFAULTS.waves],
    soak_seconds: request.soak_seconds ?? ROLLOUT_DEFAULTS.soak_seconds,
    max_failing: request.max_failing ?? ROLLOUT_DEFAULTS.max_failing,
    min_done: request.min_done ?? ROLLOUT_DEFAULTS.min_done,
    window,
    approve: request.approve ?? false,
    on_halt: request.on_halt ?? ROLLOUT_DEFAULTS.on_halt,
    bound_hosts: request.bound_hosts ?? false,
  };
}

/**
 * Ends the rollout that a new one replaces.
 *
 * @returns the version of the replaced rollout; undefined without one
 * @throws 409 when there is a live rollout that the request does not name
 */
async function replaceLive(
  transaction: Transacted,
  target: TargetRow,
  { replace, version }: RolloutRequest,
  now: number,
): Promise<string | undefined> {
  const live = await findLiveRollout(transaction, target.id);
  if (live === undefined && replace === undefined) return undefined;
  if (live === undefined) throw notFound(`The target has no rollout ${replace} that is under way.`);
  if (live.id !== replace)
    throw conflict(`The rollout ${live.id} of ${live.version} is ${live.state}: abort it, or replace it by its id.`);
  await endRollout(transaction, live, { state: "replaced", reason: null, now });
  if (live.version !== version) {
    const reason = `Its rollout was replaced by one of ${version}.`;
    await hold(transaction, target, live.version, { cause: "replaced", rollout: live.id, reason, now });
  }
  return live.version;
}

/**
 * Requires that a version may be rolled out: not staged, yanked or deleted, and above every other open one.
 *
 * @throws 409 that says what to do
 */
async function requireAbove(transaction: Transacted, target: TargetRow, version: string, now: number): Promise<void> {
  const fate = await versionFate(transaction, target, version);
  if (fate === "yanked") throw conflict(`${version} was yanked: take that back, or roll out another version.`);
  if (fate === "staged") throw conflict(`${version} is staged: roll it out when somebody has approved it.`);
  if (fate === "deleted") throw conflict(`${version} was deleted, and its label is never used again.`);
  const best = await bestOpen(transaction, target, version);
  if (best !== null && (await ranksAbove(transaction, target, best, version, now)))
    throw conflict(
      `${version} would not be the latest version: ${best}, which every host may have, ranks above it. ` +
        `Roll out a version that ranks above it: a semantic version such as 1.2.0, greater than that one.`,
    );
}

/**
 * Starts a rollout of a version that ranks above every open one, now or once it is published.
 *
 * @param id of the new rollout, which also decides the placement of hosts
 * @throws 409 for another version, for another live rollout, and `wave_empty` for a label that no known host has; 422
 */
export function startRollout(
  transaction: Transacted,
  projectId: string,
  request: RolloutRequest,
  { owner, now, id = recordId("rol", now) }: { owner: string; now: number; id?: string },
): Promise<StoredRollout> {
  const rules = rulesFrom(request);
  const { version } = request;
  return changeTarget(transaction, projectId, now, async (target, touch) => {
    const replaced = await replaceLive(transaction, target, request, now);
    await requireAbove(transaction, target, version, now);
    const view = fleetOf(target);
    if (request.allow_empty_wave !== true) await requireHostsOfLabels(transaction, view, rules);
    const row: RolloutsTable = {
      ...{ id, project_id: projectId, version, base_version: null },
      ...statusColumns(FIRST_STATUS),
      rules: JSON.stringify(rules),
      progress: emptyProgress(rules.waves.length),
      ...{
        failures_since: new Date(now).toISOString(),
        known_changes: await changesOf(transaction, view),
        counted_until: null,
        halt: null,
        revision: 0,
      },
      ...{ created_at: new Date(now).toISOString(), created_by: owner },
    };
    await insertRollout(transaction, row);
    await roll(transaction, target, version, { rollout: row.id, now });
    touch(version);
    if (replaced !== undefined) touch(replaced);
    return row.id;
  }).then(async (id) => (await findRollout(transaction, projectId, id))!);
}

/** Time for which hosts are counted after an abort with rollback, in milliseconds. */
const GOING_BACK_MS = 24 * 60 * 60 * 1000;

/**
 * Carries out a person's action on a rollout.
 *
 * @throws 404; 409 when the state of the rollout does not allow it
 */
export async function actOnRollout(
  transaction: Transacted,
  { id: projectId }: Pick<Project, "id">,
  { id, action, change, now }: { id: string; action: RolloutAction; change: RolloutChange; now: number },
): Promise<StoredRollout> {
  await changeTarget(transaction, projectId, now, async (target, touch) => {
    const row = await findRollout(transaction, projectId, id);
    if (row === undefined) throw notFound(`The target has no rollout ${id}.`);
    if (!isLive(row)) throw refusal(row, "it has ended");
    touch(row.version);
    await ACTIONS[action](transaction, target, row, change, now);
  });
  return (await findRollout(transaction, projectId, id))!;
}

const refusal = ({ id, state }: StoredRollout, why: string): HubError =>
  conflict(`The rollout ${id} is ${state}: ${why}.`);

type RolloutAct = (
  transaction: Transacted,
  target: TargetRow,
  row: StoredRollout,
  change: RolloutChange,
  now: number,
) => Promise<void>;

const ACTIONS: Record<RolloutAction, RolloutAct> = {
  async pause(transaction, _target, row, { reason = null }) {
    if (row.state !== "running") throw refusal(row, "only a running one can be paused");
    const paused = { ...idle(row), state: "paused" as const, reason, soakingSince: null };
    await overrideRollout(transaction, row.id, statusColumns(paused));
  },
  async resume(transaction, target, row, _change, now) {
    if (row.state === "running") throw refusal(row, "it need not be resumed");
    await requireAbove(transaction, target, row.version, now);
    const running = { ...idle(row), state: "running" as const, reason: null, soakingSince: null };
    await overrideRollout(transaction, row.id, {
      ...statusColumns(running),
      failures_since: new Date(now).toISOString(),
      halt: null,
    });
    await roll(transaction, target, row.version, { rollout: row.id, now });
  },
  async approve(transaction, _target, row) {
    const { open } = statusOf(row);
    const rules = decisionRules(row);
    if (row.state !== "running") throw refusal(row, "resume it first");
    if (open === 0) throw refusal(row, "no wave waits for approval");
    const waves = rules.labelled.length;
    const isAsked = needsHost(rules, open, progressOf(row)) || (rules.approve && open < waves);
    if (!isAsked) throw refusal(row, rules.approve ? "no wave waits for approval" : "its waves need no approval");
    await overrideRollout(transaction, row.id, statusColumns({ ...statusOf(row), approved: open + 1 }));
  },
  async abort(transaction, target, row, { reason = null, rollback = false }, now) {
    await endRollout(transaction, row, { state: "aborted", reason, now });
    if (rollback)
      await overrideRollout(transaction, row.id, { counted_until: new Date(now + GOING_BACK_MS).toISOString() });
    const held = { cause: "aborted", rollout: row.id, reason, isTakenBack: rollback, now } as const;
    await hold(transaction, target, row.version, held);
  },
};

const idle = (row: StoredRollout) => ({ ...statusOf(row), waitingFor: null, until: null });
