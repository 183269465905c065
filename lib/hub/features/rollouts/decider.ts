import type { Logger } from "../../../support/logging.ts";
import type { FleetKey } from "../../records/fleet.ts";
import type { TargetRow } from "../../records/latest/states.ts";
import type { Database } from "../../records/port.ts";
import { subjectOf } from "../../records/subjects.ts";
import { rolloutPulses } from "./records.ts";
import { RolloutRounds } from "./rounds.ts";
import { fleetOfRollout } from "./stored.ts";

const TICK_MS = 1000;
/** Time over which reports are gathered before a decision, in milliseconds. */
const REPORTS_MS = 100;

/** Timers of a hub; tests replace them by virtual time. */
export interface RolloutTimers {
  /** Calls `work` repeatedly. @returns a function that stops it */
  every(ms: number, work: () => Promise<void>): () => void;
  /** Calls `work` once, later. @returns a function that cancels it */
  after(ms: number, work: () => Promise<void>): () => void;
}

const TIMERS: RolloutTimers = {
  every(ms, work) {
    const timer = setInterval(() => void work(), ms).unref();
    return () => clearInterval(timer);
  },
  after(ms, work) {
    const timer = setTimeout(() => void work(), ms).unref();
    return () => clearTimeout(timer);
  },
};

interface DeciderOptions {
  database: Database;
  /** Milliseconds since 1970, by the clock of the database. */
  clock: () => number;
  logger: Logger | undefined;
  onFailure: () => void;
  /** Timers to use. Default: those of this process. */
  timers?: RolloutTimers;
}

/** Decides about the rollouts of a hub every second. Several hubs may do so at the same time. */
export class RolloutDecider implements AsyncDisposable {
  readonly #options: DeciderOptions;
  readonly #timers: RolloutTimers;
  readonly #stopLooking: () => void;
  readonly #rounds: RolloutRounds;
  /** Targets whose rollout may change by reports or time, by their owner's view. */
  #targets = new Map<string, string>();
  /** Ids of targets, by their names in the audit log. */
  #subjects = new Map<string, string>();
  /** Targets with reports that wait for the next decision. */
  readonly #due = new Set<string>();
  #forgetDue: (() => void) | undefined;
  #looking: Promise<void> = Promise.resolve();
  #isLooking = false;

  constructor(options: DeciderOptions) {
    this.#options = options;
    this.#rounds = new RolloutRounds(options);
    this.#timers = options.timers ?? TIMERS;
    this.#stopLooking = this.#timers.every(TICK_MS, () => this.#look());
  }

  /** Marks the target of a view as due, where a rollout waits for its reports; does nothing else. */
  reported(view: FleetKey): void {
    const projectId = this.#targets.get(viewKey(view));
    if (projectId === undefined) return;
    this.#due.add(projectId);
    this.#forgetDue ??= this.#timers.after(REPORTS_MS, async () => {
      this.#forgetDue = undefined;
      const due = [...this.#due];
      this.#due.clear();
      await Promise.all(due.map((each) => this.#rounds.decide(each)));
    });
  }

  /**
   * Decides about the rollout, if any, of a target whose versions have changed. Never rejects.
   *
   * @param subject the target's name in the audit log
   */
  async versionsChanged(subject: string): Promise<void> {
    const projectId = this.#subjects.get(subject);
    if (projectId !== undefined) await this.#rounds.decide(projectId);
  }

  /** Decides about a target's rollout with everything stored before the call. Never rejects. */
  decide(target: TargetRow): Promise<void> {
    this.#subjects.set(subjectOf(target), target.id);
    return this.#rounds.decide(target.id);
  }

  /** Finds the rollouts that may have changed, and decides about them. Never rejects. */
  #look(): Promise<void> {
    if (this.#isLooking) return this.#looking;
    this.#isLooking = true;
    return (this.#looking = this.#lookAtAll().finally(() => (this.#isLooking = false)));
  }

  async #lookAtAll(): Promise<void> {
    const { database, clock, logger, onFailure } = this.#options;
    try {
      const now = clock();
      const pulses = await rolloutPulses(database.kysely, new Date(now).toISOString());
      this.#targets = new Map(pulses.map((pulse) => [viewKey(fleetOfRollout(pulse)), pulse.project_id]));
      this.#subjects = new Map(pulses.map(({ project_id: id, ...pulse }) => [subjectOf({ ...pulse, id }), id]));
      await this.#rounds.decideDue(pulses, now);
    } catch (error) {
      onFailure();
      logger?.error({ err: error }, "could not decide about rollouts; tried again in a second");
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopLooking();
    this.#forgetDue?.();
    await this.#looking;
    await this.#rounds.settled();
  }
}

const viewKey = ({ holder, target }: FleetKey): string => JSON.stringify([holder, target]);
