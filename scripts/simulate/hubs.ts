/** Two hubs on one database and virtual time, with the product's own transactions, decisions and answers. */
import { HubError } from "../../lib/hub/base/errors.ts";
import { actOnRollout, startRollout } from "../../lib/hub/features/rollouts/commands.ts";
import { listRollouts, statusOf } from "../../lib/hub/features/rollouts/records.ts";
import { approveVersion, rejectVersion } from "../../lib/hub/features/staging/approve.ts";
import type { HostAnswer } from "../../lib/hub/gate/answer.ts";
import { answerHost } from "../../lib/hub/gate/host-answer.ts";
import { answerEtag, detailFor } from "../../lib/hub/gate/latest.ts";
import { findSession } from "../../lib/hub/records/access.ts";
import { VersionDeleted } from "../../lib/hub/records/deleted-versions.ts";
import type { FleetKey } from "../../lib/hub/records/fleet.ts";
import { forgetHost, labelHost } from "../../lib/hub/records/host-rows.ts";
import { insertVersion } from "../../lib/hub/records/insert-version.ts";
import { lockKeys } from "../../lib/hub/records/keys.ts";
import { findMarks } from "../../lib/hub/records/latest/states.ts";
import { deleteVersion, releaseVersion, yankVersion } from "../../lib/hub/records/managed-versions.ts";
import { type Database, inTransaction, type Transacted } from "../../lib/hub/records/port.ts";
import { findProject, lockProject, type Project, readPulse } from "../../lib/hub/records/projects.ts";
import { storeProjectReport, storeTargetReport } from "../../lib/hub/records/received-reports.ts";
import { type IncomingReport, storeReports } from "../../lib/hub/records/reports.ts";
import { fleetOf } from "../../lib/hub/records/subjects.ts";
import { transferProject } from "../../lib/hub/records/transfer.ts";
import { findVisibleTarget } from "../../lib/hub/records/visible-targets.ts";
import { furnish, SESSION, SLUG } from "./furnish.ts";
import { HubProcess } from "./hub-process.ts";
import type { HostReport, HostRequest } from "./messages.ts";
import { keyOf, newVersion, SHA256 } from "./new-version.ts";
import type { Verdict } from "./oracle/terms.ts";
import type { Plan, Rules } from "./plan.ts";

export interface HubAnswer extends HostAnswer {
  etag: string;
  /** Detail record, on surface A. */
  detail: string | undefined;
}

export class Hubs {
  readonly #database: Database;
  readonly #plan: Plan;
  readonly #hubs: HubProcess[] = [];
  #target: Project;
  #ids = 0;
  /** Milliseconds since 1970. */
  now: number;

  private constructor(database: Database, plan: Plan, target: Project) {
    this.#database = database;
    this.#plan = plan;
    this.#target = target;
    this.now = plan.start;
    for (const ahead of plan.clocks) this.#hubs.push(this.#newHub(ahead));
  }

  /** Makes the target and the keys of its owners, in an empty database. */
  static async begin(database: Database, plan: Plan, owners: readonly string[]): Promise<Hubs> {
    return new Hubs(database, plan, await furnish(database, plan, owners));
  }

  get count(): number {
    return this.#hubs.length;
  }

  clock(hub: number): number {
    return this.#hubs[hub]!.clock();
  }

  /** Ends a hub's process, and starts one that remembers nothing. */
  async restart(hub: number): Promise<void> {
    await this.#hubs[hub]!.end();
    this.#hubs[hub] = this.#newHub(this.#plan.clocks[hub]!);
  }

  async end(): Promise<void> {
    for (const hub of this.#hubs) await hub.end();
  }

  #newHub(ahead: number): HubProcess {
    return new HubProcess(this.#database, () => this.now + ahead);
  }

  /** Lets every hub check its rollouts, one after the other or concurrently. */
  async decide(isAtOnce: boolean): Promise<void> {
    if (isAtOnce) await Promise.all(this.#hubs.map((hub) => hub.turn()));
    else for (const hub of this.#hubs) await hub.turn();
  }

  /** Decides at once, as a hub does before it answers a command. */
  async heard(hub: number): Promise<void> {
    await this.#hubs[hub]!.decider.decide(this.#target);
  }

  #run(hub: number, work: (transaction: Transacted, now: number) => Promise<unknown>): Promise<Verdict> {
    const now = this.clock(hub);
    return inTransaction(this.#database.kysely, (transaction) => work(transaction, now)).then(
      (answer) => (answer === false ? "not_found" : undefined),
      (error: unknown) => {
        if (error instanceof VersionDeleted) return "deleted";
        if (error instanceof HubError) return error.code as Verdict;
        throw error;
      },
    );
  }

  /** Stores a version that waits for approval. */
  stage(hub: number, version: string): Promise<Verdict> {
    return this.publish(hub, version, false, true);
  }

  /** @param isOwn whether the approving key is the one that staged it */
  approveStaged(hub: number, version: string, isOwn: boolean): Promise<Verdict> {
    const asked = { project_id: this.#target.id, version, sha256: SHA256 };
    return this.#run(hub, async (transaction, now) => {
      const [approver] = await lockKeys(transaction, { id: keyOf(isOwn).keyId });
      return approveVersion(transaction, approver!, asked, now);
    });
  }

  rejectStaged(hub: number, version: string): Promise<Verdict> {
    const what = { projectId: this.#target.id, version };
    return this.#run(hub, (transaction, now) => rejectVersion(transaction, keyOf(false), what, now));
  }

  /** @param lost whether its bytes were lost, and are published again */
  async publish(hub: number, version: string, lost = false, stage = false): Promise<Verdict> {
    const { id, kind } = this.#target;
    const suffix = (++this.#ids).toString(16).padStart(32, "0");
    const before = lost ? await this.#idOf(version) : undefined;
    return this.#run(hub, (transaction, now) => {
      const row = newVersion({ target: { id, kind }, version, suffix, created_at: new Date(now).toISOString() });
      return insertVersion(transaction, row, { lost: before, stage });
    });
  }

  async #idOf(version: string): Promise<string | undefined> {
    return (await findMarks(this.#database.kysely, this.#target.id, version))?.id;
  }

  /** Starts a rollout with an id derived from the seed, since it decides the placement of hosts. */
  async start(
    hub: number,
    asked: { version: string; rules: Rules; replace: string | undefined; allow: boolean },
  ): Promise<{ verdict: Verdict; id: string }> {
    const { version, rules, replace, allow } = asked;
    const { seed } = this.#plan;
    const place = `${seed.toString(16)}${(++this.#ids).toString(16).padStart(6, "0")}`.padStart(20, "0");
    const id = `rol_${this.clock(hub).toString(16).padStart(12, "0")}${place}`;
    const request = { version, ...rules, allow_empty_wave: allow, ...(replace !== undefined && { replace }) };
    const { id: projectId, owner } = this.#target;
    const verdict = await this.#run(hub, (transaction, now) =>
      startRollout(transaction, projectId, request, { owner, now, id }),
    );
    return { verdict, id };
  }

  act(hub: number, id: string, action: "pause" | "resume" | "approve" | "abort", rollback = false): Promise<Verdict> {
    const change = action === "abort" ? { rollback } : {};
    return this.#run(hub, (transaction, now) => actOnRollout(transaction, this.#target, { id, action, change, now }));
  }

  release(hub: number, version: string): Promise<Verdict> {
    return this.#run(hub, async (transaction, now) =>
      (await releaseVersion(transaction, this.#target, version, now)) === undefined ? false : undefined,
    );
  }

  yank(hub: number, version: string, yanked: boolean): Promise<Verdict> {
    const change = { version, yanked, reason: null };
    return this.#run(hub, async (transaction, now) =>
      (await yankVersion(transaction, this.#target, change, now)) === undefined ? false : undefined,
    );
  }

  delete(hub: number, version: string): Promise<Verdict> {
    return this.#run(hub, async (transaction, now) => {
      const deletion = { version, reason: "simulated", now: new Date(now).toISOString() };
      return (await deleteVersion(transaction, this.#target, deletion)) !== undefined;
    });
  }

  async transfer(hub: number, owner: string): Promise<void> {
    await this.#run(hub, async (transaction, now) => {
      const transfer = { owner, keepKeys: false, now: new Date(now).toISOString() };
      await transferProject(transaction, await lockProject(transaction, this.#target.id), transfer);
    });
    this.#target = { ...this.#target, owner };
  }

  get #view(): FleetKey {
    return fleetOf(this.#target);
  }

  label(hub: number, hostId: string, labels: Record<string, string> | null): Promise<Verdict> {
    const text = labels && JSON.stringify(labels);
    return this.#run(hub, (transaction) => labelHost(transaction, this.#view, hostId, text));
  }

  forget(hub: number, hostId: string): Promise<Verdict> {
    return this.#run(hub, async (transaction) => void (await forgetHost(transaction, this.#view, hostId)));
  }

  async report(hub: number, given: HostReport): Promise<void> {
    const { owner, hostId, isNamed, isBound, labels, version, status, running, agoMs = 0 } = given;
    const { kind, id, slug } = this.#target;
    const now = this.clock(hub) - agoMs;
    const completed = new Date(now).toISOString();
    const facts = {
      ...{ version, host_id: hostId, running_version: running, labels, started_at: completed, completed_at: completed },
      ...{ error_message: status === "success" ? null : (given.cause?.message ?? "it is not healthy") },
      ...{ code: given.cause?.code, steps: undefined },
      health: { state: given.isUnhealthy ? "unhealthy" : "healthy", since: completed } as const,
    };
    const about = { now, named: isNamed ? hostId : undefined, keyHost: isBound ? hostId : null };
    const store = { store: (report: IncomingReport) => storeReports(this.#database.kysely, [report]) };
    if (kind === "project") {
      const own = { ...facts, project_id: id, deployment_id: "", plugins: [] };
      const outcome = {
        status: status === "success" ? status : "failed",
        rolled_back: status === "rolled_back",
      } as const;
      await storeProjectReport(store, { ...own, ...outcome }, about);
    } else await storeTargetReport(store, { ...facts, kind, slug, status, repo: null }, owner, about);
    this.#hubs[hub]!.decider.reported(fleetOf({ ...this.#target, owner }));
  }

  /** Answers a host as the routes do, with the statement that a poll runs. */
  async answer(hub: number, { owner, hostId, labels, running }: HostRequest, isPoll: boolean): Promise<HubAnswer> {
    const process = this.#hubs[hub]!;
    const { statements } = this.#database;
    const now = new Date(process.clock()).toISOString();
    const headers: Record<string, string> = {};
    if (hostId !== undefined) headers["x-sealift-host"] = hostId;
    const labelled = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
    if (labelled.length > 0) headers["x-sealift-labels"] = labelled.join(",");
    if (running !== undefined) headers["x-sealift-running"] = running ?? "none";
    if (this.#target.kind === "project") {
      const session = (await findSession(statements, SESSION, now, hostId))!;
      const view = { holder: "", target: session.projectId };
      if (isPoll) process.sightings.note({ headers }, view);
      const answer = answerHost(process, session, { headers }, { view: isPoll ? view : undefined, isOwners: true });
      return { ...answer, etag: answerEtag(answer), detail: undefined };
    }
    const question = { kind: this.#target.kind, slug: SLUG, credentialHash: owner, hostId, now };
    const { target } = await findVisibleTarget(statements, question);
    const view = owner === undefined ? undefined : fleetOf({ ...this.#target, owner });
    if (isPoll && view !== undefined) process.sightings.note({ headers }, view);
    const by = { view: isPoll ? view : undefined, isOwners: owner === target!.owner };
    const answer: HostAnswer =
      target!.gate === null ? { version: target!.latestVersion } : answerHost(process, target!, { headers }, by);
    const { detail, etag } = target!.gate === null ? target! : detailFor(target!, answer);
    return { ...answer, etag, detail };
  }

  /** Tells whether an agent that requests a version by name hears that it was yanked or deleted. */
  async isGone(version: string): Promise<boolean> {
    const row = await findMarks(this.#database.kysely, this.#target.id, version);
    return row === undefined || row.is_yanked !== 0;
  }

  /** Returns another text after each change of the target. */
  async pulse(): Promise<string> {
    return readPulse(this.#database, this.#target.id);
  }

  /** Reads the stored target, its rollouts and its versions' states. */
  async stored() {
    const { kysely } = this.#database;
    const target = (await findProject(kysely, this.#target.id))!;
    const all = { after: "", limit: Number.MAX_SAFE_INTEGER };
    const rollouts = (await listRollouts(kysely, this.#target.id, all)).toReversed();
    const states = await kysely.selectFrom("versions").selectAll().where("state", "is not", null).execute();
    return {
      target,
      rollouts: rollouts.map((row) => ({ id: row.id, version: row.version, ...statusOf(row) })),
      states: new Map(states.map((row) => [row.version, row])),
    };
  }
}

export type Stored = Awaited<ReturnType<Hubs["stored"]>>;
