import type { HoldReason, WatchedTarget, WatchEvent } from "../agent/watch/events.ts";
import { watchSentences } from "../agent/watch/sentences.ts";
import type { DeploymentStatus } from "../contract/surfaces/reports.ts";
import { printable } from "../support/printable.ts";
import { DeploymentModel } from "./deployment.ts";

/** Events and past deployments that are kept to look back at. */
const EVENTS_KEPT = 500;
const HISTORY_KEPT = 500;

export type TargetState =
  "starting" | "checking" | "queued" | "deploying" | "current" | "unpublished" | "paused" | "held" | "failing";

export interface TargetView {
  name: string;
  /** The name for people: a project's own once a release tells it, else `name`. */
  title: string;
  kind: WatchedTarget["kind"];
  slug: string;
  projectRoot: string;
  intervalMs: number;
  running: string | null;
  latest: string | null;
  paused: boolean;
  checking: boolean;
  checked: boolean;
  queued: boolean;
  failures: number;
  nextCheckAt: number | undefined;
  held: { version: string; reason: HoldReason; message: string } | undefined;
  error: { code: string; message: string } | undefined;
  /** The deployment in progress, or else the last one. */
  deployment: DeploymentModel | undefined;
}

export interface EventLine {
  at: number;
  target: string | undefined;
  text: string;
  bad: boolean;
}

export interface PastDeployment {
  target: string;
  at: number;
  version: string | null;
  status: DeploymentStatus | "unchanged";
  durationMs: number;
  code: string | null;
  message: string | null;
}

/** The state that the dashboard shows: the sum of the loop's events. It decides nothing. */
export class WatchModel {
  readonly targets = new Map<string, TargetView>();
  readonly events: EventLine[] = [];
  /** Newest first. */
  readonly history: PastDeployment[] = [];
  stopping = false;
  readonly #sentence = watchSentences();

  /** @param past deployments of earlier runs, from their reports */
  constructor(past: readonly PastDeployment[] = []) {
    this.history.push(...past.toSorted((a, b) => b.at - a.at).slice(0, HISTORY_KEPT));
  }

  /** @param now milliseconds since 1970 */
  apply(event: WatchEvent, now: number): void {
    this.#line(event, now);
    if (event.event === "watch.started") return this.#start(event.targets);
    if (event.event === "watch.stopping") {
      this.stopping = true;
      return;
    }
    if (!("target" in event)) return;
    const target = this.targets.get(event.target);
    if (target === undefined) return;
    switch (event.event) {
      case "check.started":
        target.checking = true;
        break;
      case "check.done":
        Object.assign(target, {
          checking: false,
          checked: true,
          running: event.running_version,
          latest: event.latest_version,
          error: undefined,
          ...(event.title !== undefined && { title: printable(event.title) }),
        });
        if (target.held?.version !== event.latest_version) target.held = undefined;
        break;
      case "check.failed":
        Object.assign(target, {
          checking: false,
          queued: false,
          failures: event.failures,
          error: { code: event.code, message: printable(event.message) },
        });
        break;
      case "check.scheduled":
        Object.assign(target, { checking: false, failures: event.failures, nextCheckAt: Date.parse(event.at) });
        break;
      case "target.held":
        Object.assign(target, {
          queued: false,
          held: { version: event.version, reason: event.reason, message: printable(event.message) },
          // The deployment has told the same as its error.
          ...(event.reason === "rights" && { error: undefined }),
        });
        break;
      case "target.paused":
      case "target.resumed":
        target.paused = event.event === "target.paused";
        break;
      case "action.asked":
        if (event.action === "redeploy" || event.action === "retry") target.held = undefined;
        break;
      case "deploy.queued":
        target.queued = true;
        break;
      case "deploy.started":
        // A rollback leaves held what was held.
        Object.assign(target, { queued: false, error: undefined, ...(event.rollback !== true && { held: undefined }) });
        target.deployment = new DeploymentModel(
          event.rollback === true ? "rollback" : event.requested_version,
          target.running,
          now,
        );
        break;
      case "deploy.done":
        this.#done(target, event, now);
        break;
      default:
        target.deployment?.apply(event, now);
    }
  }

  get deploying(): TargetView[] {
    return [...this.targets.values()].filter((target) => stateOf(target) === "deploying");
  }

  #start(targets: readonly WatchedTarget[]): void {
    const before = new Map(this.targets);
    this.targets.clear();
    for (const given of targets) {
      this.targets.set(given.target, {
        checking: false,
        checked: false,
        queued: false,
        failures: 0,
        nextCheckAt: undefined,
        held: undefined,
        error: undefined,
        deployment: undefined,
        ...before.get(given.target),
        name: given.target,
        title: printable(given.title ?? given.target),
        kind: given.kind,
        slug: given.slug,
        projectRoot: given.project_root,
        intervalMs: given.interval_ms,
        running: given.running_version,
        latest: given.latest_version,
        paused: given.paused,
      });
    }
  }

  #done(target: TargetView, event: Extract<WatchEvent, { event: "deploy.done" }>, now: number): void {
    const { outcome, version, code, duration_ms: durationMs } = event;
    const message = event.message === null ? null : printable(event.message);
    target.deployment?.finish(outcome, message, now, code);
    target.queued = false;
    if (outcome === "deployed" || outcome === "unchanged") target.running = version;
    if (code !== null) target.error = { code, message: message ?? code };
    const status = outcome === "deployed" ? "success" : outcome;
    this.history.unshift({ target: target.name, at: now, version, status, durationMs, code, message });
    this.history.length = Math.min(this.history.length, HISTORY_KEPT);
  }

  #line(event: WatchEvent, at: number): void {
    const text = this.#sentence(event);
    if (text === undefined) return;
    const bad =
      event.event === "check.failed" ||
      event.event === "warning" ||
      event.event === "watch.warning" ||
      event.event === "rollback.started" ||
      (event.event === "deploy.done" && event.code !== null) ||
      (event.event === "step.done" && event.outcome.status === "failed");
    this.events.push({ at, target: "target" in event ? event.target : undefined, text: printable(text), bad });
    if (this.events.length > EVENTS_KEPT) this.events.shift();
  }
}

/** The one word that stands for a target. */
export function stateOf(target: TargetView): TargetState {
  if (target.deployment !== undefined && target.deployment.endedAt === undefined) return "deploying";
  if (target.queued) return "queued";
  if (target.held !== undefined && target.held.reason !== "paused") return "held";
  if (target.paused) return "paused";
  if (target.error !== undefined) return "failing";
  if (target.checking && !target.checked) return "checking";
  if (!target.checked) return "starting";
  return target.latest === null ? "unpublished" : "current";
}

/** Counts the targets in each state. */
export function countStates(model: WatchModel): ReadonlyMap<TargetState, number> {
  const counts = new Map<TargetState, number>();
  for (const target of model.targets.values()) {
    const state = stateOf(target);
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  return counts;
}

/** `3 targets`. */
export const targetsText = ({ targets: { size } }: WatchModel): string => `${size} target${size === 1 ? "" : "s"}`;

/** Returns the state of all targets in one line: `3 targets, 1 deploying, 1 held`. */
export function summaryOf(model: WatchModel): string {
  const counts = countStates(model);
  const told = (["deploying", "queued", "held", "failing", "paused"] as const).filter((state) => counts.has(state));
  return [targetsText(model), ...told.map((state) => `${counts.get(state)} ${state}`)].join(", ");
}
