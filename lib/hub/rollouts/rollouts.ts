import type { IncomingHttpHeaders } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { type Labels, labelsIn } from "../../contract/labels.ts";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import { runningVersion } from "../../contract/surfaces/host-record.ts";
import type { AuditAction } from "../../contract/surfaces/keys.ts";
import type { Logger } from "../../support/logging.ts";
import { BY_HUB, insertAudit } from "../records/audit.ts";
import type { View } from "../records/fleet.ts";
import type { Database } from "../records/port.ts";
import { inTransaction } from "../records/port.ts";
import {
  changeRollout,
  findHost,
  liveRollouts,
  type StoredRollout,
  versionFate,
  writeGate,
} from "../records/rollouts.ts";
import { hostOf } from "../records/sightings.ts";
import { answerTo, type HostAnswer } from "./answer.ts";
import { decide, type Standing } from "./decide.ts";
import { type HostRecord, RolloutFleet } from "./fleet.ts";
import {
  decisionRules,
  gateOf,
  gateText,
  type NamedTarget,
  progressText,
  rulesOf,
  standingColumns,
  standingOf,
  talliedOf,
  viewOf,
} from "./stored.ts";

const LABELS = HEADERS.labels.toLowerCase();
const TICK_MS = 1000;
const PAUSE_MS = 20;
/** Header fields beyond it are not looked at. */
const MAX_LABELS_CHARACTERS = 4096;

interface RolloutsOptions {
  database: Database;
  /** Milliseconds since 1970, by the clock of the database. */
  clock: () => number;
  logger: Logger | undefined;
  onFailure: () => void;
}

const viewKey = ({ holder, target }: View): string => JSON.stringify([holder, target]);

/** Reads the claims of a host about itself. It chooses a wave by them, and gets no right. */
function namedHost(headers: IncomingHttpHeaders): { id: string | undefined; labels: Labels | undefined } {
  const given = headers[LABELS];
  const isGiven = typeof given === "string" && given.length <= MAX_LABELS_CHARACTERS;
  return { id: hostOf(headers), labels: isGiven ? labelsIn(given) : undefined };
}

/** The rollouts of a hub: answers for each host, and decisions each second. Several hubs may decide at once. */
export class Rollouts implements AsyncDisposable {
  readonly #options: RolloutsOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #fleets = new Map<string, { failuresSince: string; fleet: RolloutFleet }>();
  /** The views whose reports a rollout waits for. */
  #views: ReadonlySet<string> = new Set();
  #deciding: Promise<void> | undefined;
  #isAskedAgain = false;

  constructor(options: RolloutsOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.decide(), TICK_MS).unref();
  }

  /**
   * Answers a host that asks for the latest version of a target with a rollout: costs one indexed read where the host
   * says its name.
   *
   * @param latest the newest version, whatever the rollout
   * @param view the fleet that the host reports to; undefined when nobody knows
   */
  async answer(
    gate: string,
    latest: string | null,
    { headers }: { headers: IncomingHttpHeaders },
    view: View | undefined,
  ): Promise<HostAnswer> {
    const { database, clock } = this.#options;
    const rollout = gateOf(gate);
    const { id, labels } = namedHost(headers);
    const row = id === undefined || view === undefined ? undefined : await findHost(database.statements, view, id);
    const record = row && (JSON.parse(row.record) as HostRecord);
    const given = row?.labels ? (JSON.parse(row.labels) as Labels) : undefined;
    const host = {
      id,
      labels: given ?? labels ?? record?.labels ?? {},
      runsIt: record !== undefined && runningVersion(record) === rollout.version,
    };
    return answerTo(rollout, latest, host, clock());
  }

  /** Decides soon when a rollout waits for the reports of this view. */
  reported(view: View): void {
    if (this.#views.has(viewKey(view))) void this.decide();
  }

  /** Decides, where rollouts are under way, before the answer that a version was published or yanked. Never rejects. */
  async versionsChanged(): Promise<void> {
    if (this.#views.size > 0) await this.decide();
  }

  /** Decides about every rollout, with all that was stored before the call. Never rejects. */
  decide(): Promise<void> {
    if (this.#deciding !== undefined) this.#isAskedAgain = true;
    return (this.#deciding ??= this.#decideAsAsked().finally(() => (this.#deciding = undefined)));
  }

  async #decideAsAsked(): Promise<void> {
    do {
      this.#isAskedAgain = false;
      await this.#decideAll();
      // Reports come by the thousand; one look is for all that came meanwhile. The end of the hub waits for it, so it
      // keeps the process: one with nothing else to do would end here with 0, its error untold.
      await sleep(PAUSE_MS);
    } while (this.#isAskedAgain);
  }

  async #decideAll(): Promise<void> {
    const { database, logger, onFailure } = this.#options;
    try {
      const live = await liveRollouts(database.kysely);
      for (const id of this.#fleets.keys()) if (!live.some((row) => row.id === id)) this.#fleets.delete(id);
      this.#views = new Set(live.map((row) => viewKey(viewOf(row))));
      for (const row of live) await this.#decideOne(row);
    } catch (error) {
      onFailure();
      logger?.error({ err: error }, "could not decide about rollouts; tried again in a second");
    }
  }

  async #decideOne(row: StoredRollout): Promise<void> {
    const { database, clock } = this.#options;
    const version = await versionFate(database.kysely, row);
    const now = clock();
    const tally = await this.#fleetOf(row).at(now);
    const before = standingOf(row);
    const after = decide(decisionRules(row), before, { now, version, tally });
    const isHalted = after.state === "halted" && before.state !== "halted";
    const changes = {
      ...standingColumns(after),
      progress: progressText(tally),
      is_withdrawn: isHalted && rulesOf(row).on_halt === "rollback" ? 1 : row.is_withdrawn,
    };
    if (changes.standing === row.standing && changes.state === row.state && changes.progress === row.progress) return;
    const changed: StoredRollout = { ...row, ...changes };
    await inTransaction(database.kysely, async (transaction) => {
      // Another hub has decided, or a person: the next second sees what is true then.
      if (!(await changeRollout(transaction, row, changes))) return;
      const gate = gateText(changed);
      if (gate !== gateText(row)) await writeGate(transaction, row.project_id, gate);
      const action = actionOf(before, after);
      if (action === undefined) return;
      const facts = { rollout: row.id, version: row.version, open: after.open, reason: after.reason };
      await insertAudit(transaction, { action, ...BY_HUB, subject: subjectOf(row), facts }, now);
    });
  }

  #fleetOf(row: StoredRollout): RolloutFleet {
    const known = this.#fleets.get(row.id);
    if (known?.failuresSince === row.failures_since) return known.fleet;
    const fleet = new RolloutFleet(this.#options.database.statements, viewOf(row), talliedOf(row));
    this.#fleets.set(row.id, { failuresSince: row.failures_since, fleet });
    return fleet;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#deciding;
  }
}

/** Names a target as the audit log does. */
export const subjectOf = ({ kind, slug, project_id: id }: NamedTarget): string =>
  kind === "project" ? id : `${kind}/${slug}`;

function actionOf(before: Standing, after: Standing): AuditAction | undefined {
  if (after.state !== before.state && after.state === "halted") return "rollout.halt";
  if (after.state !== before.state && after.state === "completed") return "rollout.complete";
  return after.open > before.open ? "rollout.open" : undefined;
}
