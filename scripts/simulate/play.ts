/** Plays a plan on virtual time: commands, polls, deployments, reports and decisions, each compared with the oracle. */
import type { Database } from "../../lib/hub/records/port.ts";
import { Random } from "../fuzz/random.ts";
import { cutShortBy, isBad, type Turn, turnsAfter } from "./ailments.ts";
import { Answers } from "./answers.ts";
import { Broken, checkStored } from "./checks.ts";
import { SimulatedHost } from "./host.ts";
import { Hubs, type Stored } from "./hubs.ts";
import type { HostReport } from "./messages.ts";
import { carryOut, picked, type Scene } from "./operator.ts";
import { Oracle } from "./oracle/oracle.ts";
import { Progress } from "./oracle/progress.ts";
import type { Plan } from "./plan.ts";
import { Schedule } from "./schedule.ts";

const OWNERS = ["alpha", "beta"];
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;
/** Longest interval at which the hub checks what time may bring, in milliseconds. */
const LOOK_MS = 30 * SECOND;
/** Time that hosts get after the last command, in milliseconds. */
const END_MS = 8 * MINUTE;
/** Polls after which a host must run what it is told. */
const POLLS = 3;

type GameEvent =
  | { do: "command"; index: number }
  | { do: "poll" | "finish"; host: SimulatedHost }
  | { do: "report"; report: HostReport; failed: string | null }
  | Turn
  | { do: "look" }
  | { do: "end" };

export interface Played {
  /** Broken rule, if any. */
  broken: Broken | undefined;
  /** Actions, one per line. */
  steps: string[];
  polls: number;
  /** Rollouts by the state in which they ended. */
  rollouts: string[];
}

export async function play(database: Database, plan: Plan): Promise<Played> {
  const hubs = await Hubs.begin(database, plan, OWNERS);
  const game = new Game(plan, hubs);
  let broken: Broken | undefined;
  try {
    await game.run();
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
    broken = error;
  } finally {
    await hubs.end();
  }
  const { steps, polls, oracle } = game;
  return { broken, steps, polls, rollouts: oracle.rollouts.map(({ state }) => state) };
}

class Game implements Scene {
  readonly plan: Plan;
  readonly hubs: Hubs;
  readonly oracle: Oracle;
  readonly progress: Progress;
  readonly owners = OWNERS;
  readonly steps: string[] = [];
  polls = 0;
  readonly #random: Random;
  readonly #schedule = new Schedule<GameEvent>();
  readonly #hosts: SimulatedHost[];
  readonly #answers: Answers;
  #lookAt = Number.POSITIVE_INFINITY;
  #stored: Stored | undefined;
  #pulse = "";

  constructor(plan: Plan, hubs: Hubs) {
    this.plan = plan;
    this.hubs = hubs;
    this.oracle = new Oracle(plan.kind, OWNERS[0]!, Math.max(...plan.clocks));
    this.progress = new Progress(this.oracle, (rule, facts) => {
      throw new Broken(rule, facts);
    });
    this.#answers = new Answers(this);
    this.#random = new Random(plan.seed + 1_000_000);
    const ownerOf = { owner: OWNERS[0], other: OWNERS[1], nobody: undefined };
    this.#hosts = plan.hosts.map((host) => new SimulatedHost(host, ownerOf[host.key], plan.pool[0]!));
  }

  async run(): Promise<void> {
    const { plan, hubs, oracle } = this;
    for (const version of plan.pool.slice(0, plan.published)) {
      await hubs.publish(0, version);
      oracle.publish(version, hubs.clock(0));
      hubs.now += SECOND;
    }
    for (const host of this.#hosts) {
      const { isInstalled, isDead, startsAt } = host.plan;
      if (isInstalled && startsAt < MINUTE) await this.#reportFirst(host, isDead ? 2 * DAY : 0);
      if (!isDead) this.#schedule.add(hubs.now + startsAt, { do: "poll", host });
    }
    await this.#check(undefined);
    this.#schedule.add(hubs.now + (plan.commands[0]?.after ?? 0), { do: "command", index: 0 });
    for (;;) {
      const { at, event } = this.#schedule.next()!;
      hubs.now = Math.max(hubs.now, at);
      if (event.do === "end") break;
      await this.#handle(event);
    }
  }

  async #reportFirst(host: SimulatedHost, agoMs: number): Promise<void> {
    const { running, owner, plan } = host;
    if (owner === undefined) return;
    const { id: hostId, saysName: isNamed, isBound, labels } = plan;
    const facts = { owner, hostId, isNamed, isBound, labels } as const;
    await this.#report({ ...facts, version: running!, status: "success", running, isUnhealthy: false, agoMs }, null);
  }

  async #report(report: HostReport, failed: string | null): Promise<void> {
    const hub = this.#random.below(this.hubs.count);
    const { owner: holder, agoMs = 0 } = report;
    await this.hubs.report(hub, report);
    this.oracle.reported({ ...report, holder, failed }, this.hubs.clock(hub) - agoMs);
    this.#lookSoon();
  }

  #lookSoon(ms = SECOND): void {
    const at = this.hubs.now + ms;
    if (at >= this.#lookAt) return;
    this.#lookAt = at;
    this.#schedule.add(at, { do: "look" });
  }

  async #handle(event: Exclude<GameEvent, { do: "end" }>): Promise<void> {
    switch (event.do) {
      case "command":
        return this.#command(event.index);
      case "poll":
        return this.#poll(event.host);
      case "finish":
        return this.#finish(event.host);
      case "report":
        return this.#report(event.report, event.failed);
      case "turn":
        return this.#reportLate(event.host, event.host.turn(event.isUnhealthy, event.version), null);
      case "look":
        return this.#look();
      default:
        event satisfies never;
    }
  }

  async #look(): Promise<void> {
    if (this.hubs.now < this.#lookAt) return;
    this.#lookAt = Number.POSITIVE_INFINITY;
    await this.#decide(() => this.hubs.decide(this.#random.once(4)));
    if (this.progress.isWaited) this.#lookSoon();
    const { nextAt } = this.progress;
    if (nextAt !== undefined && nextAt > this.hubs.now) this.#lookSoon(nextAt - this.hubs.now);
    if (this.oracle.live !== undefined) this.#lookSoon(LOOK_MS);
  }

  /** Lets hubs decide, and compares what they did with what they may do. */
  async #decide(work: () => Promise<void>): Promise<void> {
    const { hubs, progress } = this;
    progress.look(hubs.now);
    const halted = this.oracle.live?.state === "halted";
    await work();
    const before = this.#stored;
    const isNew = await this.#read();
    const clocks = this.plan.clocks.map((_, hub) => hubs.clock(hub));
    progress.observe(this.#stored!.rollouts, hubs.now, clocks);
    if (!halted && this.oracle.live?.state === "halted") this.#beginTrails();
    if (!isNew) return;
    await this.#checkRead(before, undefined);
    // A hub sees the consequences of its own decision at its next look.
    this.#lookSoon();
  }

  /** Reads what is stored, if it has changed. */
  async #read(): Promise<boolean> {
    const pulse = await this.hubs.pulse();
    if (pulse === this.#pulse) return false;
    this.#pulse = pulse;
    this.#stored = await this.hubs.stored();
    return true;
  }

  async #check(deed: string | undefined): Promise<void> {
    const before = this.#stored;
    this.#pulse = "";
    await this.#read();
    await this.#checkRead(before, deed);
  }

  async #checkRead(before: Stored | undefined, deed: string | undefined): Promise<void> {
    checkStored(this.#stored!, before, this.oracle, deed);
    await this.#answers.checkAll(this.#hosts, this.#stored!.target.detail_etag);
  }

  async #command(index: number): Promise<void> {
    const command = this.plan.commands[index];
    if (command === undefined) {
      this.#schedule.add(this.hubs.now + END_MS, { do: "end" });
      return;
    }
    const following = this.plan.commands[index + 1];
    this.#schedule.add(this.hubs.now + (following?.after ?? 0), { do: "command", index: index + 1 });
    if (command.do === "wait") return;
    if (command.do === "kill" || command.do === "reinstall") {
      const host = picked(command.pick, this.#hosts)!;
      const isBack = host.isDead;
      if (command.do === "kill") host.isDead = true;
      else host.reinstall();
      if (command.do === "reinstall" && isBack) this.#schedule.add(this.hubs.now, { do: "poll", host });
      this.#note(`${command.do} ${host.id}`);
      return;
    }
    // Approval depends on what hubs have counted.
    if (command.do === "approve") await this.#decide(() => this.hubs.decide(false));
    const isMoving = !MOVES_NOBODY.includes(command.do) || (command.do === "abort" && command.rollback);
    const settled = isMoving ? undefined : await this.#answers.settled(this.#hosts);
    const done = await carryOut(command, this);
    if (done === undefined) return;
    this.#note(`${done.text}${done.isDone ? "" : ": refused"}`);
    this.#beginTrails();
    await this.#check(command.do);
    for (const host of settled ?? [])
      if (await this.#answers.moves(host))
        throw new Broken("pause, abort, replace and transfer move no host", `${host.id} leaves ${host.running}`);
    if (command.isHeard) await this.#decide(() => this.hubs.heard(command.hub));
    this.#lookSoon();
  }

  #note(text: string): void {
    const minutes = ((this.hubs.now - this.plan.start) / MINUTE).toFixed(1);
    this.steps.push(`${minutes} min: ${text}`);
  }

  #beginTrails(): void {
    for (const host of this.#hosts) host.trail = host.deploying || host.running === null ? [] : [host.running];
  }

  async #poll(host: SimulatedHost): Promise<void> {
    if (host.isDead) return;
    this.#schedule.add(this.hubs.now + host.plan.everyMs, { do: "poll", host });
    if (host.deploying !== undefined || this.#random.once(50)) return;
    this.polls++;
    const hub = this.#random.below(this.hubs.count);
    const answer = await this.hubs.answer(hub, host.request, true);
    this.#answers.require(host, answer, this.oracle.answer(host.asking, this.hubs.clock(hub)));
    const gone = await this.#answers.goneFor(host, answer);
    if (host.countMisses(answer, gone) > POLLS)
      throw new Broken(
        "hosts reach their version within three polls",
        `${host.id} runs ${host.running}, not ${answer.version}`,
      );
    const decision = host.decide(answer, gone);
    if (decision.do !== "deploy" && decision.do !== "go-back") return;
    const isBack = decision.do === "go-back";
    const next = isBack ? host.kept : (decision as { version: string }).version;
    if (next === null) return;
    if (!isBack) this.#answers.requireAllowed(host, next);
    host.deploying = { version: next, isBack };
    this.#schedule.add(this.hubs.now + 2 * SECOND + this.#random.below(30 * SECOND), { do: "finish", host });
  }

  async #finish(host: SimulatedHost): Promise<void> {
    const { deploying, owner } = host;
    if (deploying === undefined || host.isDead) return;
    const { version, isBack } = deploying;
    // It was deleted meanwhile: the download answers 404.
    if (!isBack && !this.oracle.versions.has(version)) return void (host.deploying = undefined);
    const cause = isBack ? undefined : cutShortBy(this.plan, host, version);
    // The rules of a rollout do not see it: a version that is not to blame has not failed.
    if (cause !== undefined) return this.#reportLate(host, host.cutShort(cause), null);
    const fails = !isBack && isBad(this.plan, host, version);
    const report = host.finish(fails, this.hubs.now);
    if (!fails) {
      if (host.plan.saysRunning && host.trail.includes(version))
        throw new Broken(
          "nobody switches back and forth without a command",
          `${host.id}: ${host.trail.join()}, ${version}`,
        );
      host.trail.push(version);
      for (const { at, event } of turnsAfter(this.plan, host, version, this.hubs.now)) this.#schedule.add(at, event);
    }
    if (owner !== undefined && !this.#random.once(40)) this.#reportLate(host, report, fails ? version : null);
  }

  #reportLate(host: SimulatedHost, report: Omit<HostReport, "owner"> | undefined, failed: string | null): void {
    const { owner, plan } = host;
    if (owner === undefined || report === undefined) return;
    this.#schedule.add(this.hubs.now + plan.lateMs, { do: "report", report: { ...report, owner }, failed });
  }
}

/** Actions that only take a version from hosts that do not run it. */
const MOVES_NOBODY = ["pause", "abort", "start", "transfer"];
