/**
 * Rule of which host gets what, implemented independently from the page of the contract: it follows the operator's
 * commands, reports, and the waves that hubs open, and computes the result of each command and poll. It shares no code
 * with the product.
 */
import { count, type Counts, isNew, type KnownHost, waveOf } from "./fleet.ts";
import { compare, type Ordered } from "./order.ts";
import type { Answer, Asking, Rollout, Start, Verdict } from "./terms.ts";
import { type Cause, isGating, isOpenAndUnyanked, type Version, Versions } from "./versions.ts";
import { isOpen, opening } from "./window.ts";

const LIVE: readonly Rollout["state"][] = ["running", "paused", "halted"];

export class Oracle {
  readonly versions = new Versions();
  readonly deleted = new Set<string>();
  readonly rollouts: Rollout[] = [];
  readonly #kind: "project" | "plugin";
  readonly #views = new Map<string, Map<string, KnownHost>>();
  /** Largest difference between clocks of hubs, in milliseconds. */
  readonly skew: number;
  owner: string;
  #events = 0;

  constructor(kind: "project" | "plugin", owner: string, skew: number) {
    this.#kind = kind;
    this.owner = owner;
    this.skew = skew;
  }

  get live(): Rollout | undefined {
    return this.rollouts.find(({ state }) => LIVE.includes(state));
  }

  /** Returns the view of an owner's hosts; on surface B there is one view. */
  view(holder = this.owner): Map<string, KnownHost> {
    const name = this.#kind === "project" ? "" : holder;
    const found = this.#views.get(name) ?? new Map<string, KnownHost>();
    this.#views.set(name, found);
    return found;
  }

  get greatestOpen(): Version | undefined {
    return this.versions.greatest(isOpenAndUnyanked);
  }

  /** Whether hosts may be answered differently. */
  get isGated(): boolean {
    const open = this.greatestOpen;
    const isAbove = (version: Version): boolean => open === undefined || compare(version, open) > 0;
    return [...this.versions.known()].some((each) => isGating(each) && isAbove(each));
  }

  publish(version: string, now: number): Verdict {
    if (this.deleted.has(version)) return "deleted";
    if (this.versions.has(version)) return undefined;
    const { live } = this;
    const newest = this.rollouts.findLast((rollout) => rollout.version === version);
    this.versions.add(version, now);
    if (live?.version === version && live.state !== "halted") this.versions.roll(version);
    else if (live?.version === version) this.versions.hold(version, "halted");
    else if (live !== undefined) this.versions.hold(version, "beside");
    else if (newest !== undefined && newest.state !== "completed") this.versions.hold(version, newest.state as Cause);
    this.#settle();
    return undefined;
  }

  stage(version: string, now: number): Verdict {
    if (this.deleted.has(version)) return "deleted";
    if (!this.versions.has(version)) this.versions.stage(version, now);
    return undefined;
  }

  /** Approves a staged version, which is then published. @param isOwn whether its stager asks */
  approveStaged(version: string, now: number, isOwn: boolean): Verdict {
    const found = this.versions.get(version);
    if (found?.state === "staged" && isOwn) return "own_approval";
    if (found?.state === "staged" && found.isYanked) return "conflict";
    return this.rejectStaged(version) ?? this.publish(version, now);
  }

  rejectStaged(version: string): Verdict {
    if (this.versions.get(version)?.state !== "staged") return this.versions.has(version) ? "conflict" : "not_found";
    this.versions.delete(version);
    return undefined;
  }

  start({ version, rules, replace, allow, id }: Start, now: number): Verdict {
    const { live } = this;
    if (live !== undefined && live.id !== replace) return "conflict";
    if (live === undefined && replace !== undefined) return "not_found";
    if (!this.#mayRoll(version, now)) return "conflict";
    if (!allow && rules.waves.some((wave) => wave.includes("=") && !this.#hasHostOf(wave, rules.bound_hosts)))
      return "wave_empty";
    if (live !== undefined) {
      live.state = "replaced";
      if (live.version !== version) this.versions.hold(live.version, "replaced");
    }
    const since = { event: this.#events, at: now };
    const { waves } = rules;
    const facts = { id, version, waves, known: this.#events, since, open: 0, approved: new Set<number>() };
    this.rollouts.push({ ...facts, state: "running", rules });
    this.versions.roll(version);
    this.#settle();
    return undefined;
  }

  pause(rollout: Rollout): Verdict {
    if (rollout.state !== "running") return "conflict";
    rollout.state = "paused";
    return undefined;
  }

  resume(rollout: Rollout, now: number): Verdict {
    if (rollout.state !== "paused" && rollout.state !== "halted") return "conflict";
    if (!this.#mayRoll(rollout.version, now)) return "conflict";
    rollout.state = "running";
    rollout.since = { event: this.#events, at: now };
    this.versions.roll(rollout.version);
    this.#settle();
    return undefined;
  }

  approve(rollout: Rollout, now: number): Verdict {
    const { state, open, rules } = rollout;
    if (state !== "running" || open === 0) return "conflict";
    if (!(rules.approve && open < rules.waves.length) && !this.lacksHost(rollout, this.counts(rollout, now)))
      return "conflict";
    rollout.approved.add(open);
    return undefined;
  }

  abort(rollout: Rollout, rollback: boolean): Verdict {
    if (!LIVE.includes(rollout.state)) return "conflict";
    rollout.state = "aborted";
    this.versions.hold(rollout.version, "aborted", rollback);
    return undefined;
  }

  release(version: string): Verdict {
    const found = this.versions.get(version);
    if (found === undefined) return "not_found";
    if (found.state === "staged" || this.live?.version === version) return "conflict";
    this.versions.open(version);
    this.#settle();
    return undefined;
  }

  yank(version: string, isYanked: boolean): Verdict {
    const found = this.versions.get(version);
    if (found === undefined) return "not_found";
    found.isYanked = isYanked;
    const { live } = this;
    const isLive = found.state !== "staged" && live?.version === version && live.state !== "halted";
    if (isYanked && isLive) this.halted(live);
    this.#settle();
    return undefined;
  }

  delete(version: string): Verdict {
    if (!this.versions.bury(version)) return "not_found";
    this.deleted.add(version);
    if (this.live?.version === version) this.live.state = "aborted";
    return undefined;
  }

  transfer(owner: string): void {
    this.owner = owner;
    if (this.#kind === "project" || this.live === undefined) return;
    this.abort(this.live, false);
  }

  /** Notes that a hub has halted a rollout. */
  halted(rollout: Rollout): void {
    rollout.state = "halted";
    this.versions.hold(rollout.version, "halted", rollout.rules.on_halt === "rollback");
  }

  /** Notes that a hub has completed a rollout. */
  completed(rollout: Rollout): void {
    rollout.state = "completed";
    this.versions.open(rollout.version);
    this.#settle();
  }

  /** Notes that a hub has stored a report of a host. @param at its time by the hub's clock */
  reported(
    {
      holder,
      hostId,
      isNamed,
      isBound,
      running,
      failed,
      isUnhealthy,
      labels,
    }: { holder: string; hostId: string; isNamed: boolean; isBound: boolean } & Pick<
      KnownHost,
      "running" | "failed" | "isUnhealthy" | "labels"
    >,
    at: number,
  ): void {
    const event = ++this.#events;
    const view = this.view(holder);
    const before = view.get(hostId) ?? { first: event, given: null, isNamed: false };
    const facts = { isBound, running, failed, isUnhealthy, labels, event, reportedAt: at, heardAt: at };
    view.set(hostId, { ...facts, first: before.first, given: before.given, isNamed: before.isNamed || isNamed });
  }

  /** Gives a host labels. @returns false for a host that the owner's view does not have */
  label(hostId: string, labels: Record<string, string> | null): Verdict {
    const host = this.view().get(hostId);
    if (host === undefined) return "not_found";
    host.given = labels;
    return undefined;
  }

  forget(hostId: string): void {
    this.view().delete(hostId);
  }

  /** Counts the hosts of a rollout, by wave. */
  counts(rollout: Rollout, now: number): Counts[] {
    const own = this.#facts(rollout.version, now);
    const keeps = (version: string): boolean => {
      const found = this.versions.get(version);
      return found !== undefined && !found.isYanked && !found.isTakenBack && compare(found, own) > 0;
    };
    return count(this.view(), rollout, { now, skew: this.skew, keeps });
  }

  /** Tells whether the last open wave waits for a host that nobody knows. */
  lacksHost({ open, rules }: Rollout, counts: readonly Counts[]): boolean {
    if (rules.waves[open - 1]!.includes("=") && counts[open - 1]!.done === 0) return true;
    return open === rules.waves.length && counts.every(({ done }) => done === 0);
  }

  /** Returns the answer to a polling host. @param now by the clock of the answering hub */
  answer({ id, labels, running: told, holder, hostId }: Asking, now: number): Answer {
    const known = holder === undefined ? undefined : this.view(holder).get(hostId);
    // Without a name the hub does not know whose reports are its own.
    const row = id === undefined ? undefined : known;
    const running = told === undefined ? (row?.running ?? null) : told;
    const runs = running === null ? undefined : this.versions.published(running);
    const { live } = this;
    const rolling = live && this.versions.published(live.version);
    const isOwners = this.#kind === "project" || holder === this.owner;
    const isRunning = live?.state === "running" && rolling?.state === "rolling" && !rolling.isYanked;
    const wave = live === undefined ? 0 : this.wave(live, isOwners ? row : undefined, hostId, labels);
    const isItsTurn = isRunning && wave < live.open && isOpen(live.rules.window, now);
    const best = this.versions.greatest(
      (version) =>
        !version.isYanked &&
        (version.state === "open" || (version === rolling && isItsTurn) || (version === runs && !version.isTakenBack)),
    );
    if (best === undefined) return { version: null };
    const answer: Answer = { version: best.version };
    const left = running === null ? undefined : this.versions.takenBack(running);
    if (left !== undefined && compare(best, left) < 0) answer.withdrawn = left.version;
    const window = live?.rules.window ?? null;
    if (isRunning && window !== null && wave <= live.open && compare(best, rolling) < 0)
      answer.next = { version: rolling.version, notBefore: opening(window, now).from };
    return answer;
  }

  /** Returns the wave of a host; a new one, and one without a name, is in the last one. */
  wave(rollout: Rollout, host: KnownHost | undefined, hostId: string, said: Record<string, string>): number {
    const { id, waves } = rollout;
    if (host === undefined || isNew(host, rollout)) return waves.length - 1;
    return waveOf(id, waves, hostId, host.given ?? said);
  }

  /** Whether some counted host has a label. */
  #hasHostOf(wave: string, isBoundOnly: boolean): boolean {
    const [name, value] = wave.split("=") as [string, string];
    return [...this.view().values()].some(
      ({ isNamed, isBound, given, labels }) =>
        isNamed && (isBound || !isBoundOnly) && (given ?? labels)[name] === value,
    );
  }

  #facts(version: string, now: number): Ordered {
    return this.versions.published(version) ?? { version, publishedAt: now };
  }

  #mayRoll(version: string, now: number): boolean {
    const found = this.versions.get(version);
    if (this.deleted.has(version) || found?.isYanked === true || found?.state === "staged") return false;
    const best = this.versions.greatest((each) => each.state === "open" && !each.isYanked && each.version !== version);
    return best === undefined || compare(this.#facts(version, now), best) > 0;
  }

  /** Ends the live rollout when an open version ranks above its own. */
  #settle(): void {
    const { live, greatestOpen: open } = this;
    if (live === undefined || open === undefined) return;
    if (compare(open, this.#facts(live.version, Number.POSITIVE_INFINITY)) > 0) this.abort(live, false);
  }
}
