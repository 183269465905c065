import { conflict } from "../../base/errors.ts";
import { BY_HUB, insertAudit } from "../../records/audit.ts";
import type { TargetChange, TargetPart } from "../../records/hooks.ts";
import { ranksAbove } from "../../records/latest/change-target.ts";
import type { RollingVersion } from "../../records/latest/gate.ts";
import { hold, roll, type TargetRow } from "../../records/latest/states.ts";
import type { Transacted } from "../../records/port.ts";
import type { Project } from "../../records/projects.ts";
import { subjectOf } from "../../records/subjects.ts";
import {
  endRollout,
  findLiveRollout,
  newestRolloutOf,
  overrideRollout,
  rulesOf,
  statusOf,
  type StoredRollout,
} from "./records.ts";
import { haltText, progressOf } from "./stored.ts";

/** Effects of a change of a target on its rollouts (docs/contract/rollouts.md#what-latest-means). */
export class RolloutPart implements TargetPart {
  readonly #db: Transacted;
  readonly #target: Project;
  /** Milliseconds since 1970. */
  readonly #now: number;
  /** Live rollout, once read; forgotten when it changes. */
  #live: Promise<StoredRollout | undefined> | undefined;

  constructor(transaction: Transacted, target: Project, now: number) {
    this.#db = transaction;
    this.#target = target;
    this.#now = now;
  }

  #findLive(): Promise<StoredRollout | undefined> {
    return (this.#live ??= findLiveRollout(this.#db, this.#target.id));
  }

  async hear(change: TargetChange): Promise<boolean> {
    if (change.what === "publish") return this.#enter(change.version);
    const { kind } = this.#target;
    // A project's fleet stays with it; a plugin's or service's new owner has another fleet, which no rollout knows.
    if (change.what === "transfer" && kind === "project") return false;
    const live = await this.#findLive();
    if (live === undefined) return false;
    if (change.what === "transfer") {
      await this.#abort(live, `The ${kind} changed its owner.`);
      return true;
    }
    const { what, version } = change;
    if (live.version !== version) return false;
    switch (what) {
      case "release":
        throw conflict(
          `${version} is being rolled out by ${live.id}, which is ${live.state}: abort that first, or let it complete.`,
        );
      case "delete":
        await this.#abort(live, `${version} was deleted.`);
        return true;
      case "yank":
        if (live.state === "halted") return false;
        this.#live = undefined;
        await haltByHub(this.#db, this.#target, live, {
          ...{ reason: `${version} was yanked.`, now: this.#now },
          halt: haltText(this.#now, progressOf(live)),
        });
        return true;
    }
  }

  /**
   * Sets the state of a new version at its publication: by its rollout, by the live rollout of another version, or by
   * the end of its newest rollout.
   *
   * @returns false for an open one
   */
  async #enter(version: string): Promise<boolean> {
    const [transaction, target, now] = [this.#db, this.#target, this.#now];
    const newest = (await this.#findLive()) ?? (await newestRolloutOf(transaction, target.id, version));
    if (newest === undefined) return false;
    const { id: rollout, state } = newest;
    if (newest.version !== version) {
      const reason = `Published beside the rollout of ${newest.version}.`;
      await hold(transaction, target, version, { cause: "beside", rollout, reason, now });
    } else if (state === "running" || state === "paused") await roll(transaction, target, version, { rollout, now });
    else if (state === "completed") return false;
    else await hold(transaction, target, version, { cause: state, rollout, reason: statusOf(newest).reason, now });
    return true;
  }

  async settle(latest: string | null): Promise<RollingVersion | undefined> {
    const live = await this.#findLive();
    if (live === undefined) return undefined;
    if (latest !== null && (await ranksAbove(this.#db, this.#target, latest, live.version, this.#now))) {
      await this.#abort(live, `${latest}, which every host may have, ranks above it.`);
      return undefined;
    }
    const { waves, window, bound_hosts: only_bound } = rulesOf(live);
    const { open } = statusOf(live);
    const known = Number(live.known_changes);
    const terms = { running: live.state === "running", waves, open, window, known, only_bound };
    return { version: live.version, id: live.id, ...terms };
  }

  /** Aborts the live rollout because its target has changed: its version is held, and no host goes back. */
  async #abort(live: StoredRollout, reason: string): Promise<void> {
    const [transaction, target, now] = [this.#db, this.#target, this.#now];
    this.#live = undefined;
    await endRollout(transaction, live, { state: "aborted", reason, now });
    await hold(transaction, target, live.version, { cause: "aborted", rollout: live.id, reason, now });
    const facts = { rollout: live.id, version: live.version, reason };
    await insertAudit(transaction, { action: "rollout.abort", ...BY_HUB, subject: subjectOf(target), facts }, now);
  }
}

/**
 * Halts a live rollout: holds its version, and takes it back where the rollout's rules say so.
 *
 * @param halt what halts it, which later reports do not change
 */
export async function haltByHub(
  transaction: Transacted,
  target: TargetRow,
  live: StoredRollout,
  { reason, halt, now }: { reason: string | null; halt: string; now: number },
): Promise<void> {
  const isTakenBack = rulesOf(live).on_halt === "rollback";
  await endRollout(transaction, live, { state: "halted", reason, now });
  await overrideRollout(transaction, live.id, { halt });
  await hold(transaction, target, live.version, { cause: "halted", rollout: live.id, reason, isTakenBack, now });
  const facts = { rollout: live.id, version: live.version, open: statusOf(live).open, reason };
  await insertAudit(transaction, { action: "rollout.halt", ...BY_HUB, subject: subjectOf(target), facts }, now);
}
