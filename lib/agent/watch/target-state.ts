import type { Sick } from "../../releases/health.ts";
import { counted } from "../../support/counted.ts";
import type { HoldReason, WatchedTarget, WatchEvent } from "./events.ts";

/** States of a watched target, the most urgent first. */
export const TARGET_STATES = [
  "failing",
  "held",
  "deploying",
  "queued",
  "behind",
  "paused",
  "pinned",
  "starting",
  "checking",
  "unpublished",
  "current",
] as const;
export type TargetState = (typeof TARGET_STATES)[number];

/** Reasons of a hold that the deployment before it has reported as its error. */
const SAID_BY_DEPLOYMENT: ReadonlySet<HoldReason> = new Set(["rights", "policy", "application", "settings"]);

/** Facts of one target, from its events. */
export interface TargetFacts {
  running: string | null;
  latest: string | null;
  /** Version that a rollback would go back to, as of the last check. */
  previous: string | null;
  paused: boolean;
  /** Pinned version. */
  pin: string | null;
  checking: boolean;
  /** True once the hub has answered. */
  checked: boolean;
  /** Time of the hub's last answer, in milliseconds since 1970. */
  checkedAt: number | undefined;
  queued: boolean;
  deploying: boolean;
  /** Consecutive turns that failed. */
  failures: number;
  nextCheckAt: number | undefined;
  held: { version: string; reason: HoldReason; message: string } | undefined;
  /** Since when what runs is unhealthy, and why. */
  unhealthy: Sick | undefined;
  /** Failure that no turn has fixed yet. */
  error: { code: string; message: string; by: "check" | "deployment" } | undefined;
}

/** Returns the facts of a target that a watch starts with, or takes over after a reload. */
export const factsAtStart = (
  {
    running_version: running,
    latest_version: latest,
    previous_version: previous = null,
    paused,
    unhealthy,
  }: WatchedTarget,
  known?: TargetFacts,
): TargetFacts => ({
  ...{
    previous: null,
    pin: null,
    checking: false,
    checked: false,
    checkedAt: undefined,
    queued: false,
    deploying: false,
  },
  ...{ failures: 0, nextCheckAt: undefined, held: undefined, error: undefined },
  ...known,
  ...{ running, latest, previous, paused, unhealthy },
});

/** Returns the facts of a target after one of its events. @param now milliseconds since 1970 */
export function factsAfter(facts: TargetFacts, event: WatchEvent, now: number): TargetFacts {
  switch (event.event) {
    case "check.started":
      return { ...facts, checking: true };
    case "check.done": {
      const { running_version: running, latest_version: latest, previous_version: previous = null } = event;
      const error = facts.error?.by === "check" ? undefined : facts.error;
      return { ...facts, checking: false, checked: true, checkedAt: now, running, latest, previous, error };
    }
    case "check.failed": {
      const { failures, code, message } = event;
      return { ...facts, checking: false, queued: false, failures, error: { code, message, by: "check" } };
    }
    // End of a turn: its facts hold until the next one.
    case "check.scheduled": {
      const { failures, held = null, pin = null } = event;
      return {
        ...{ ...facts, checking: false, queued: false, failures, pin, nextCheckAt: Date.parse(event.at) },
        held: held === null ? undefined : facts.held,
        error: failures === 0 ? undefined : facts.error,
      };
    }
    case "target.held": {
      const { version, reason, message } = event;
      // A deployment that has found so has reported the same as its error.
      const error = SAID_BY_DEPLOYMENT.has(reason) ? undefined : facts.error;
      return { ...facts, queued: false, held: { version, reason, message }, error };
    }
    case "health.changed": {
      const { state, since, message } = event;
      return { ...facts, unhealthy: state === "unhealthy" ? { since, message: message ?? "" } : undefined };
    }
    case "target.paused":
    case "target.resumed":
      return { ...facts, paused: event.event === "target.paused" };
    case "action.asked":
      return event.action === "redeploy" || event.action === "retry" ? { ...facts, held: undefined } : facts;
    case "deploy.queued":
      return { ...facts, queued: true };
    case "deploy.started":
      // A rollback leaves held what was held.
      return {
        ...{ ...facts, queued: false, deploying: true, error: undefined },
        held: event.rollback === true ? facts.held : undefined,
      };
    case "deploy.done": {
      const { outcome, version, code, message } = event;
      const running = outcome === "deployed" || outcome === "unchanged" ? version : facts.running;
      const error = code === null ? undefined : { code, message: message ?? code, by: "deployment" as const };
      // `rollback` goes back to the version that was replaced; the next check corrects this.
      const previous = outcome === "deployed" ? (event.rollback === true ? null : facts.running) : facts.previous;
      return { ...facts, queued: false, deploying: false, running, previous, error };
    }
    default:
      return facts;
  }
}

/** Returns the one word for the state of a target. */
export function stateOf(facts: TargetFacts): TargetState {
  if (facts.deploying) return "deploying";
  if (facts.queued) return "queued";
  if (facts.held !== undefined && facts.held.reason !== "paused") return "held";
  if (facts.paused) return "paused";
  if (facts.error !== undefined) return "failing";
  if (facts.pin !== null) return "pinned";
  if (!facts.checked) return facts.checking ? "checking" : "starting";
  if (facts.latest === null) return "unpublished";
  return facts.latest === facts.running ? "current" : "behind";
}

/** Tells whether a new version is not followed, for whatever reason: a pause, a pin, or a hold. */
export const isHeldBack = ({ held, paused, pin }: TargetFacts): boolean => held !== undefined || paused || pin !== null;

/** Targets of a watch with their facts, computed from the loop's events. */
export class TargetStates {
  readonly #targets = new Map<string, TargetFacts>();
  readonly #silentHubs = new Set<string>();

  /** Applies an event. @param now milliseconds since 1970 */
  apply(event: WatchEvent, now: number): void {
    if (event.event === "hints.connected") this.#silentHubs.delete(event.hub);
    if (event.event === "hints.lost") this.#silentHubs.add(event.hub);
    if (event.event === "watch.started") {
      const known = new Map(this.#targets);
      this.#targets.clear();
      for (const target of event.targets)
        this.#targets.set(target.target, factsAtStart(target, known.get(target.target)));
      return;
    }
    const facts = "target" in event ? this.#targets.get(event.target) : undefined;
    if (facts !== undefined) this.#targets.set((event as { target: string }).target, factsAfter(facts, event, now));
  }

  get size(): number {
    return this.#targets.size;
  }

  /** Summary in one line: `3 targets, 1 held, no hints from 1 hub`. */
  get summary(): string {
    const silent = this.#silentHubs.size;
    const states = summaryOf([...this.#targets.values()]);
    return silent === 0 ? states : `${states}, no hints from ${counted(silent, "hub")}`;
  }

  [Symbol.iterator](): IterableIterator<[target: string, facts: TargetFacts]> {
    return this.#targets.entries();
  }
}

/** Counts the targets in each state. */
export function countStates(targets: Iterable<TargetFacts>): ReadonlyMap<TargetState, number> {
  const counts = new Map<TargetState, number>();
  for (const target of targets) {
    const state = stateOf(target);
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  return counts;
}

/** Returns `3 targets`. */
export const targetsText = (size: number): string => counted(size, "target");

/** Summarizes the states of all targets in one line: `3 targets, 1 deploying, 1 held`. */
function summaryOf(targets: readonly TargetFacts[]): string {
  const counts = countStates(targets);
  const named = (["deploying", "queued", "held", "failing", "paused", "pinned"] as const).filter((state) =>
    counts.has(state),
  );
  const sick = targets.filter(({ unhealthy }) => unhealthy !== undefined).length;
  const parts = [...named.map((state) => `${counts.get(state)} ${state}`), ...(sick > 0 ? [`${sick} unhealthy`] : [])];
  return [targetsText(targets.length), ...parts].join(", ");
}
