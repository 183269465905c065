/** Host of the simulation: what it runs, and what its agent decides, with the product's own decision. */
import { decideDeployment, type Decision } from "../../lib/agent/watch/decide.ts";
import type { QuarantineEntry } from "../../lib/releases/quarantine.ts";
import type { HubAnswer } from "./hubs.ts";
import type { HostReport, HostRequest } from "./messages.ts";
import { isStepDown } from "./oracle/order.ts";
import type { Asking } from "./oracle/terms.ts";
import type { HostPlan } from "./plan.ts";

export class SimulatedHost {
  readonly plan: HostPlan;
  /** Owner of its key; undefined without one. */
  readonly owner: string | undefined;
  running: string | null = null;
  /** Release that it keeps beside the running one. */
  kept: string | null = null;
  ran = new Set<string>();
  isDead: boolean;
  /** Whether what it runs is unhealthy after its deployment. */
  isUnhealthy = false;
  deploying: { version: string; isBack: boolean } | undefined;
  /** Versions that it ran since the last action of a person. */
  trail: string[] = [];
  /** Consecutive polls at which it did not run what it was told. */
  #misses = 0;
  #quarantine: QuarantineEntry[] = [];
  /** Versions of which a deployment was cut short. */
  #cutShort = new Set<string>();

  constructor(plan: HostPlan, owner: string | undefined, first: string) {
    this.plan = plan;
    this.owner = owner;
    this.isDead = plan.isDead;
    if (!plan.isInstalled) return;
    this.running = first;
    this.ran.add(first);
  }

  get id(): string {
    return this.plan.id;
  }

  get request(): HostRequest {
    const { saysName, saysRunning, labels } = this.plan;
    const hostId = saysName ? this.id : undefined;
    return { owner: this.owner, hostId, labels, running: saysRunning ? this.running : undefined };
  }

  /** Request, in the oracle's terms. */
  get asking(): Asking {
    const { hostId: id, labels, running } = this.request;
    return { id, labels, running, holder: this.owner, hostId: this.id };
  }

  /** Decides about an answer as its agent does. @param gone versions that it hears were yanked or deleted */
  decide({ version, withdrawn }: HubAnswer, gone: readonly string[]): Decision {
    return decideDeployment({
      ...{ running: this.running, quarantine: this.#quarantine, ran: this.ran, keepsEarlier: this.kept !== null },
      latest: { version, identity: null, yanked: gone, withdrawn: withdrawn ?? null },
      ...{ paused: false, damaged: false, allowDowngrade: false },
    });
  }

  /**
   * Tells whether the agent may stay below or above what it is told: it never goes down by itself, nor to what failed.
   */
  mayStay(version: string, gone: readonly string[]): boolean {
    if (this.#quarantine.some((entry) => entry.version === version)) return true;
    const { running } = this;
    if (running === null || !isStepDown(running, version)) return false;
    return !gone.includes(running) || !this.ran.has(version);
  }

  /** Counts consecutive polls at which it does not run what it is told, and could. */
  countMisses({ version, withdrawn }: HubAnswer, gone: readonly string[]): number {
    const left = withdrawn === undefined ? gone : [...gone, withdrawn];
    const isRight = version === null || version === this.running || this.mayStay(version, left);
    this.#misses = isRight ? 0 : this.#misses + 1;
    return this.#misses;
  }

  /** Ends a deployment. @returns its report */
  finish(isBad: boolean, now: number): Omit<HostReport, "owner"> {
    const { version, isBack } = this.deploying!;
    this.deploying = undefined;
    if (isBad) {
      const at = new Date(now).toISOString();
      this.#quarantine.push({ version, identity: null, code: "unhealthy", reason: "it is not healthy", at });
      return this.#report(version, this.running === null ? "failed" : "rolled_back");
    }
    this.kept = isBack ? null : this.running;
    this.running = version;
    this.ran.add(version);
    this.#misses = 0;
    this.isUnhealthy = false;
    return this.#report(version, "success");
  }

  wasCutShort(version: string): boolean {
    return this.#cutShort.has(version);
  }

  /** Ends a deployment early: the next poll takes the version again. @returns its report */
  cutShort(cause: NonNullable<HostReport["cause"]>): Omit<HostReport, "owner"> {
    const { version } = this.deploying!;
    this.deploying = undefined;
    this.#cutShort.add(version);
    this.#misses = 0;
    return { ...this.#report(version, this.running === null ? "failed" : "rolled_back"), cause };
  }

  /** Changes the health of what it runs. @returns its report; undefined where nothing changes */
  turn(isUnhealthy: boolean, version: string): Omit<HostReport, "owner"> | undefined {
    const isDone = this.isUnhealthy === isUnhealthy || this.running !== version;
    if (this.isDead || this.deploying !== undefined || isDone) return undefined;
    this.isUnhealthy = isUnhealthy;
    return this.#report(version, isUnhealthy ? "failed" : "success");
  }

  #report(version: string, status: HostReport["status"]): Omit<HostReport, "owner"> {
    const { saysName: isNamed, isBound, labels } = this.plan;
    const { id: hostId, running, isUnhealthy } = this;
    return { hostId, isNamed, isBound, labels, version, status, running, isUnhealthy };
  }

  /** Reinstalls the host, which then remembers nothing. */
  reinstall(): void {
    this.running = null;
    this.kept = null;
    this.ran = new Set();
    this.#quarantine = [];
    this.#cutShort = new Set();
    this.deploying = undefined;
    this.trail = [];
    this.#misses = 0;
    this.isDead = false;
    this.isUnhealthy = false;
  }
}
