/** When waves have to open, may open, and must not: compares the decisions of hubs with the page. */
import { exceeds, isEnough } from "./fleet.ts";
import type { Oracle } from "./oracle.ts";
import type { Rollout } from "./terms.ts";
import { isOpen } from "./window.ts";

/** Time within which a hub must decide once it can, in milliseconds. */
const PROMPT_MS = 5000;

type Step = "halt" | "open" | "complete";

/** Rollout as stored. */
export interface Observed {
  id: string;
  state: Rollout["state"];
  open: number;
}

export class Progress {
  readonly #oracle: Oracle;
  readonly #fault: (rule: string, facts: string) => void;
  /** Time since which enough hosts of the open waves have run the version, with the rollout and wave. */
  #reached: { of: string; since: number } | undefined;
  /** Step that is due, and since when. */
  #wanted: { step: Step; of: string; since: number } | undefined;

  constructor(oracle: Oracle, fault: (rule: string, facts: string) => void) {
    this.#oracle = oracle;
    this.#fault = fault;
  }

  /** Examines the fleet as hubs are about to do. */
  look(now: number): void {
    const rollout = this.#oracle.live;
    if (rollout === undefined || !this.#isReached(rollout, now)) this.#reached = undefined;
    else if (this.#reached?.of !== nameOf(rollout)) this.#reached = { of: nameOf(rollout), since: now };
  }

  /** Notes a pause or a resume: the soak starts again. */
  interrupted(): void {
    this.#reached = undefined;
  }

  /** Compares the hubs' decisions with what they may decide. @param clocks of the hubs, in milliseconds since 1970 */
  observe(stored: readonly Observed[], now: number, clocks: readonly number[]): void {
    const rollout = this.#oracle.live;
    const found = stored.find(({ id }) => id === rollout?.id);
    if (rollout === undefined || found === undefined) return;
    while (rollout.open < found.open) {
      this.#require(rollout, "open", now, clocks);
      rollout.open++;
      this.look(now);
    }
    if (found.state === "halted" && rollout.state !== "halted") {
      this.#require(rollout, "halt", now, clocks);
      this.#oracle.halted(rollout);
      this.#reached = undefined;
    }
    if (found.state === "completed") {
      this.#require(rollout, "complete", now, clocks);
      this.#oracle.completed(rollout);
      this.#reached = undefined;
    }
    this.#requirePrompt(now, clocks);
  }

  #requirePrompt(now: number, clocks: readonly number[]): void {
    const rollout = this.#oracle.live;
    const step = rollout && this.#due(rollout, now, clocks);
    if (rollout === undefined || step === undefined) return void (this.#wanted = undefined);
    const of = nameOf(rollout);
    if (this.#wanted?.step !== step || this.#wanted.of !== of) this.#wanted = { step, of, since: now };
    else if (now - this.#wanted.since >= PROMPT_MS) {
      const rule =
        step === "halt" ? "failures above the limit halt within 5 s" : "a wave waits for no longer than it has to";
      this.#fault(rule, `${of} has to ${step}, ${this.#shown(rollout, now)}`);
    }
  }

  #shown(rollout: Rollout, now: number): string {
    return JSON.stringify(this.#oracle.counts(rollout, now));
  }

  /** Latest time of the next step, if time alone brings it, in milliseconds since 1970. */
  get nextAt(): number | undefined {
    const rollout = this.#oracle.live;
    if (this.#reached === undefined || rollout === undefined) return undefined;
    return this.#reached.since + rollout.rules.soak_seconds * 1000 + this.#oracle.skew;
  }

  get isWaited(): boolean {
    return this.#wanted !== undefined;
  }

  #isReached(rollout: Rollout, now: number): boolean {
    const { state, open, rules, version } = rollout;
    if (state !== "running" || open === 0 || this.#oracle.versions.get(version)?.state !== "rolling") return false;
    const counts = this.#oracle.counts(rollout, now);
    const waves = counts.slice(0, open);
    const done = waves.reduce((sum, wave) => sum + wave.done, 0);
    const hosts = waves.reduce((sum, wave) => sum + wave.hosts, 0);
    if (!isEnough(done, rules, hosts)) return false;
    return rollout.approved.has(open) || !this.#oracle.lacksHost(rollout, counts);
  }

  /** Whether more hosts fail than may. @param isCertain whether doubtful ones do not count */
  #fails(rollout: Rollout, now: number, isCertain: boolean): boolean {
    // Before the publication nobody has the version.
    if (rollout.open === 0 && this.#oracle.versions.get(rollout.version)?.state !== "rolling") return false;
    const counts = this.#oracle.counts(rollout, now);
    const failing = counts.reduce((sum, wave) => sum + wave.failing + (isCertain ? 0 : wave.doubtful), 0);
    const hosts = counts.slice(0, rollout.open).reduce((sum, wave) => sum + wave.hosts, 0);
    return exceeds(failing, rollout.rules.max_failing, hosts);
  }

  /** Returns the step that has to come now, by every hub's clock. */
  #due(rollout: Rollout, now: number, clocks: readonly number[]): Step | undefined {
    const { state, open, rules, version, approved } = rollout;
    if (state !== "running" && state !== "paused") return undefined;
    if (this.#fails(rollout, now, true)) return "halt";
    if (state === "paused" || this.#oracle.versions.get(version)?.state !== "rolling") return undefined;
    if (open > 0) {
      if (this.#reached?.of !== nameOf(rollout)) return undefined;
      if (now < this.#reached.since + rules.soak_seconds * 1000 + this.#oracle.skew) return undefined;
      if (open === rules.waves.length) return "complete";
      if (rules.approve && !approved.has(open)) return undefined;
    }
    return clocks.every((clock) => isOpen(rules.window, clock)) ? "open" : undefined;
  }

  /** Requires that a step was allowed, by some hub's clock. */
  #require(rollout: Rollout, step: Step, now: number, clocks: readonly number[]): void {
    const { state, open, rules, version, approved } = rollout;
    const refuse = (rule: string): void =>
      this.#fault(rule, `${nameOf(rollout)}: ${step}, ${this.#shown(rollout, now)}`);
    if (state !== "running" && (step !== "halt" || state !== "paused")) refuse("only a person lets a rollout go on");
    if (step === "halt") {
      if (!this.#fails(rollout, now, false)) refuse("nothing halts below the limit");
      return;
    }
    if (this.#fails(rollout, now, true)) refuse("no wave opens above the limit of failures");
    if (this.#oracle.versions.get(version)?.state !== "rolling") refuse("no wave opens before the publication");
    if (open > 0) {
      const since = this.#reached?.of === nameOf(rollout) ? this.#reached.since : undefined;
      if (since === undefined) {
        const counts = this.#oracle.counts(rollout, now);
        const isAsked = !approved.has(open) && this.#oracle.lacksHost(rollout, counts);
        refuse(isAsked ? "a labelled wave passes only after a counted host ran the version" : "waves never open early");
      } else if (now - since < rules.soak_seconds * 1000 - this.#oracle.skew) refuse("waves never open early");
    }
    if (step === "complete") {
      if (open !== rules.waves.length) refuse("nothing completes before its last wave");
      return;
    }
    if (open > 0 && rules.approve && !approved.has(open)) refuse("a wave waits for approval");
    if (!clocks.some((clock) => isOpen(rules.window, clock))) refuse("waves open in the window only");
  }
}

/** Names a rollout with its open waves. */
const nameOf = ({ id, open }: Rollout): string => `${id} at wave ${open}`;
