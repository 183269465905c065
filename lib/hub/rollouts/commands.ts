import { ROLLOUT_DEFAULTS } from "../../contract/rollout-terms.ts";
import {
  type RolloutAction,
  type RolloutChange,
  type RolloutRequest,
  type RolloutRules,
} from "../../contract/surfaces/rollouts.ts";
import { latestOf } from "../../contract/versions.ts";
import { conflict, notFound, unprocessable } from "../ground/errors.ts";
import { recordId } from "../ground/identity.ts";
import type { Transacted } from "../records/port.ts";
import { lockProject, type Project } from "../records/projects.ts";
import type { RolloutsTable } from "../records/rollout-tables.ts";
import {
  bestBeside,
  changeRollout,
  findLiveRollout,
  findRollout,
  insertRollout,
  type StoredRollout,
  versionFate,
  writeGate,
} from "../records/rollouts.ts";
import { emptyProgress, FIRST_STANDING, gateOf, gateText, rulesOf, standingColumns, standingOf } from "./stored.ts";
import { parseWindow } from "./window.ts";

/** The requests of persons to rollouts; each call is a part of a transaction. */

function rulesFrom(request: RolloutRequest): RolloutRules {
  const { window = null } = request;
  try {
    if (window !== null) parseWindow(window);
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
  };
}

/** Ends the rollout that a new one takes the place of. @throws 409 when there is one that the request does not name */
async function replaceLive(
  transaction: Transacted,
  projectId: string,
  replace: string | undefined,
  now: number,
): Promise<void> {
  const live = await findLiveRollout(transaction, projectId);
  if (live === undefined && replace === undefined) return;
  if (live === undefined) throw notFound(`The target has no rollout ${replace} that is under way.`);
  if (live.id !== replace)
    throw conflict(`The rollout ${live.id} of ${live.version} is under way; abort it, or name it to replace it.`);
  const standing = { ...standingOf(live), state: "replaced" as const, waitingFor: null, until: null, endedAt: now };
  await requireChanged(changeRollout(transaction, live, standingColumns(standing)));
}

/**
 * Starts a rollout of a version that is the latest, or will be when it is published.
 *
 * @throws 409 for a version that would not be the latest, or beside another rollout; 422
 */
export async function startRollout(
  transaction: Transacted,
  projectId: string,
  request: RolloutRequest,
  { owner, now }: { owner: string; now: number },
): Promise<StoredRollout> {
  const rules = rulesFrom(request);
  const { version } = request;
  const project = await lockProject(transaction, projectId);
  const { kind, slug } = project;
  const before = project.rollout;
  await replaceLive(transaction, projectId, request.replace, now);
  const createdAt = new Date(now).toISOString();
  const named = { project_id: projectId, kind, version };
  const fate = await versionFate(transaction, named);
  if (fate === "yanked" || fate === "deleted") throw conflict(`${version} was ${fate}; no host gets it by a rollout.`);
  const best = await bestBeside(transaction, named, createdAt);
  const candidates = [{ version, created_at: createdAt }, ...(best === undefined ? [] : [best])];
  if (latestOf(candidates)?.version !== version)
    throw conflict(
      `${version} would not be the latest version: ${best?.version} is. Yank that, or publish a newer one.`,
    );
  const row: RolloutsTable = {
    ...{ id: recordId("rol", now), project_id: projectId, version },
    base_version: baseVersion(before, best?.version ?? null),
    ...standingColumns(FIRST_STANDING),
    rules: JSON.stringify(rules),
    progress: emptyProgress(rules.waves.length),
    ...{ failures_since: createdAt, is_withdrawn: 0, revision: 0, created_at: createdAt, created_by: owner },
  };
  await insertRollout(transaction, row);
  await writeGate(transaction, projectId, gateText(row));
  return { ...row, kind, slug, owner: project.owner };
}

/** A version that an earlier rollout keeps back is not what others fall back to. */
function baseVersion(gate: string | null, best: string | null): string | null {
  if (gate === null) return best;
  const before = gateOf(gate);
  return before.version === best ? before.base : best;
}

/**
 * Carries out a person's request to a rollout.
 *
 * @throws 404; 409 when the rollout is not in a state for it
 */
export async function actOnRollout(
  transaction: Transacted,
  { id: projectId }: Pick<Project, "id">,
  { id, action, change, now }: { id: string; action: RolloutAction; change: RolloutChange; now: number },
): Promise<StoredRollout> {
  await lockProject(transaction, projectId);
  for (let attempt = 1; ; attempt++) {
    const row = await findRollout(transaction, projectId, id);
    if (row === undefined) throw notFound(`The target has no rollout ${id}.`);
    const changes = changesOf(row, action, change, now);
    const written = changeRollout(transaction, row, changes);
    if (attempt === ATTEMPTS) await requireChanged(written);
    else if (!(await written)) continue;
    const changed = { ...row, ...changes };
    await writeGate(transaction, projectId, gateText(changed));
    return changed;
  }
}

/** Looks at a rollout that the hub decides about in the same moment. */
const ATTEMPTS = 5;

const ENDED = ["completed", "aborted", "replaced"];

function changesOf(
  row: StoredRollout,
  action: RolloutAction,
  { reason = null, rollback = false }: { reason?: string | null | undefined; rollback?: boolean | undefined },
  now: number,
): Partial<RolloutsTable> & Pick<RolloutsTable, "state"> {
  const standing = { ...standingOf(row), waitingFor: null, until: null };
  const { state, open } = standing;
  const refused = (why: string) => conflict(`The rollout ${row.id} is ${state}: ${why}.`);
  if (ENDED.includes(state)) throw refused("it has ended");
  switch (action) {
    case "pause":
      if (state !== "running") throw refused("only a running one can be paused");
      return standingColumns({ ...standing, state: "paused", reason, soakingSince: null });
    case "resume":
      if (state === "running") throw refused("it need not be resumed");
      return {
        ...standingColumns({ ...standing, state: "running", reason: null, soakingSince: null }),
        failures_since: new Date(now).toISOString(),
        is_withdrawn: 0,
      };
    case "approve": {
      const { approve, waves } = rulesOf(row);
      if (!approve) throw refused("its waves need no approval");
      if (state !== "running") throw refused("resume it first");
      if (open === 0 || open === waves.length) throw refused("no wave waits for approval");
      return standingColumns({ ...standingOf(row), approved: open + 1 });
    }
    case "abort":
      return {
        ...standingColumns({ ...standing, state: "aborted", reason, endedAt: now }),
        is_withdrawn: rollback ? 1 : row.is_withdrawn,
      };
  }
}

async function requireChanged(change: Promise<boolean>): Promise<void> {
  if (!(await change)) throw conflict("The rollout has changed meanwhile; try again.");
}
