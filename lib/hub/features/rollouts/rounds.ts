import type { ActionName } from "../../../contract/audit-actions.ts";
import type { Logger } from "../../../support/logging.ts";
import { gateOf } from "../../gate/stored-gate.ts";
import { BY_HUB, insertAudit } from "../../records/audit.ts";
import { changeTarget } from "../../records/latest/change-target.ts";
import { open } from "../../records/latest/states.ts";
import { type Database, inTransaction, type Transacted } from "../../records/port.ts";
import { findProject } from "../../records/projects.ts";
import { subjectOf } from "../../records/subjects.ts";
import { decideRollout } from "./decide.ts";
import { RolloutFleet } from "./fleet.ts";
import {
  changeRollout,
  changingRollouts,
  overrideRollout,
  type RolloutPulse,
  type RolloutStatus,
  statusColumns,
  statusOf,
  type StoredRollout,
} from "./records.ts";
import { decisionRules, fleetOfRollout, haltText, progressText, talliedOf } from "./stored.ts";
import type { Tally } from "./tally.ts";
import { haltByHub } from "./target-part.ts";

/** Longest time between two decisions about a rollout, in milliseconds: hosts fall silent without a change. */
const DECIDED_MS = 60_000;

interface RoundOptions {
  database: Database;
  /** Milliseconds since 1970, by the clock of the database. */
  clock: () => number;
  logger: Logger | undefined;
  onFailure: () => void;
}

/** Decision about one target that is under way, and the one queued after it. */
interface Round {
  done: Promise<void>;
  next: Promise<void> | undefined;
}

/** Rollout as this hub last saw it. */
interface Known {
  /** Differs after each change that a decision depends on, except for time. */
  pulse: string;
  /** When time alone may change the decision, in milliseconds since 1970. */
  dueAt: number;
  fleet: RolloutFleet;
  /** Differs when the fleet has to be counted again. */
  fleetOf: string;
}

/** Decides about rollouts: sequentially for each target, in parallel for different ones. */
export class RolloutRounds {
  readonly #options: RoundOptions;
  readonly #rounds = new Map<string, Round>();
  readonly #known = new Map<string, Known>();

  constructor(options: RoundOptions) {
    this.#options = options;
  }

  /** Resolves after the first round of this target that began after the call. Never rejects. */
  decide(projectId: string): Promise<void> {
    const round = this.#rounds.get(projectId);
    if (round === undefined) return this.#begin(projectId);
    return (round.next ??= round.done.then(() => this.#begin(projectId)));
  }

  /** Decides about the rollouts that have changed since the last look, or are due by time. */
  async decideDue(pulses: readonly RolloutPulse[], now: number): Promise<void> {
    const ids = new Set(pulses.map(({ id }) => id));
    for (const id of this.#known.keys()) if (!ids.has(id)) this.#known.delete(id);
    const due = new Set<string>();
    for (const pulse of pulses) {
      const known = this.#known.get(pulse.id);
      if (known === undefined || known.pulse !== pulseText(pulse) || now >= known.dueAt) due.add(pulse.project_id);
    }
    for (const projectId of due) await this.decide(projectId);
    for (const pulse of pulses) {
      const known = this.#known.get(pulse.id);
      if (known !== undefined && due.has(pulse.project_id)) known.pulse = pulseText(pulse);
    }
  }

  /** Resolves when no decision is under way. */
  async settled(): Promise<void> {
    while (this.#rounds.size > 0) await Promise.all([...this.#rounds.values()].map(({ done, next }) => next ?? done));
  }

  #begin(projectId: string): Promise<void> {
    const round: Round = { done: Promise.resolve(), next: undefined };
    this.#rounds.set(projectId, round);
    round.done = this.#decideTarget(projectId).finally(() => {
      if (round.next === undefined) this.#rounds.delete(projectId);
    });
    return round.done;
  }

  async #decideTarget(projectId: string): Promise<void> {
    const { database, clock, logger, onFailure } = this.#options;
    try {
      const now = new Date(clock()).toISOString();
      for (const row of await changingRollouts(database.kysely, projectId, now)) await this.#decideOne(row);
    } catch (error) {
      // A target that was deleted meanwhile has nothing left to decide.
      const project = await findProject(database.kysely, projectId).catch(() => "unknown");
      if (project === undefined) return;
      onFailure();
      logger?.error({ err: error, project: projectId }, "could not decide about a rollout; tried again in a second");
    }
  }

  async #decideOne(row: StoredRollout): Promise<void> {
    const known = this.#fleetOf(row);
    const now = this.#options.clock();
    const before = statusOf(row);
    const tally = await known.fleet.at(now, before.open);
    const isPublished = row.gate !== null && gateOf(row.gate).rolling?.id === row.id;
    const after = decideRollout(decisionRules(row), before, { now, isPublished, tally });
    known.dueAt = Math.min(after.until ?? Number.POSITIVE_INFINITY, now + DECIDED_MS);
    // The hosts that are waited for are those of the wave that opens now, too.
    const progress = after.open === before.open ? tally : await known.fleet.at(now, after.open);
    const changes = { ...statusColumns(after), progress: progressText(progress) };
    if (changes.standing === row.standing && changes.state === row.state && changes.progress === row.progress) return;
    const { database } = this.#options;
    if (after.open === before.open && after.state === before.state)
      // Another hub or a person may have been faster: the next round sees the result.
      return void (await changeRollout(database.kysely, row, changes));
    await inTransaction(database.kysely, (transaction) => moveOn(transaction, row, { after, tally: progress, now }));
    // The next wave may already be complete, with no soak.
    known.pulse = "";
  }

  #fleetOf(row: StoredRollout): Known {
    const known = this.#known.get(row.id);
    const tallied = talliedOf(row);
    const fleetOf = JSON.stringify([fleetOfRollout(row), tallied.failuresSince, tallied.kept]);
    if (known?.fleetOf === fleetOf) return known;
    const fleet = new RolloutFleet(this.#options.database.statements, fleetOfRollout(row), tallied);
    const fresh = { pulse: "", dueAt: 0, fleet, fleetOf };
    this.#known.set(row.id, fresh);
    return fresh;
  }
}

const pulseText = ({ revision, gate, changes, forgotten }: RolloutPulse): string =>
  JSON.stringify([Number(revision), gate, Number(changes ?? 0), Number(forgotten ?? 0)]);

/** Opens a wave of a rollout, or halts or completes it, if it is still as it was read; locks its target. */
async function moveOn(
  transaction: Transacted,
  row: StoredRollout,
  { after, tally, now }: { after: RolloutStatus; tally: Tally; now: number },
): Promise<void> {
  await changeTarget(transaction, row.project_id, now, async (target, touch) => {
    if (!(await changeRollout(transaction, row, { progress: progressText(tally) }))) return;
    if (after.state === "halted") {
      touch(row.version);
      return haltByHub(transaction, target, row, { reason: after.reason, halt: haltText(now, tally), now });
    }
    await overrideRollout(transaction, row.id, {
      ...statusColumns(after),
      ...(after.state === "completed" && { base_version: row.latest_version }),
    });
    if (after.state === "completed") {
      await open(transaction, target, row.version);
      touch(row.version);
    }
    const action: ActionName = after.state === "completed" ? "rollout.complete" : "rollout.open";
    const facts = { rollout: row.id, version: row.version, open: after.open, reason: after.reason };
    await insertAudit(transaction, { action, ...BY_HUB, subject: subjectOf(target), facts }, now);
  });
}
