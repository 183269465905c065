import type { AgentEvent } from "../agent/base/events.ts";
import type { WatchedTarget, WatchEvent } from "../agent/watch/events.ts";
import { watchSentences } from "../agent/watch/sentences.ts";
import { factsAfter, factsAtStart, stateOf, TARGET_STATES, type TargetFacts } from "../agent/watch/target-state.ts";
import type { DeploymentStatus } from "../contract/surfaces/reports.ts";
import { naturally } from "../support/natural-order.ts";
import { printable } from "../support/printable.ts";
import { DeploymentModel } from "./deployment-model.ts";
import type { TargetOrder } from "./navigation.ts";
import { Pictures } from "./pictures.ts";

/** Events and past deployments kept for scrolling back. */
const EVENTS_KEPT = 500;
const HISTORY_KEPT = 500;

export interface TargetView extends TargetFacts {
  name: string;
  /** Display name: a project's own once a release tells it, otherwise `name`. */
  title: string;
  kind: WatchedTarget["kind"];
  slug: string;
  projectRoot: string;
  intervalMs: number;
  /** Current deployment, or else the last one. */
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
  status: DeploymentStatus | "unchanged" | "went_back";
  durationMs: number;
  code: string | null;
  message: string | null;
}

/** State that the dashboard shows, computed from the loop's events. It decides nothing. */
export class WatchModel {
  readonly targets = new Map<string, TargetView>();
  readonly events: EventLine[] = [];
  /** Past deployments, newest first. */
  readonly history: PastDeployment[] = [];
  /** Hubs, with whether they currently send hints. */
  readonly hints = new Map<string, boolean>();
  stopping = false;
  readonly #sentence = watchSentences();

  /** @param past deployments of earlier runs, from their reports */
  constructor(past: readonly PastDeployment[] = []) {
    this.history.push(...past.toSorted((a, b) => b.at - a.at).slice(0, HISTORY_KEPT));
  }

  /** Applies an event. @param now milliseconds since 1970 */
  apply(event: WatchEvent, now: number): void {
    this.#line(event, now);
    if (event.event === "watch.started") return this.#start(event.targets);
    if (event.event === "watch.stopping") {
      this.stopping = true;
      return;
    }
    if (event.event === "hints.connected" || event.event === "hints.lost")
      this.hints.set(event.hub, event.event === "hints.connected");
    if (!("target" in event)) return;
    const target = this.targets.get(event.target);
    if (target === undefined) return;
    const running = target.running;
    Object.assign(target, factsAfter(target, shown(event), now));
    switch (event.event) {
      case "check.done":
        if (event.title !== undefined) target.title = printable(event.title);
        break;
      case "deploy.started": {
        const version = event.rollback === true ? "rollback" : event.requested_version;
        target.deployment = new DeploymentModel(version, running, now);
        break;
      }
      case "deploy.done":
        this.#done(target, event, now);
        break;
      default:
        target.deployment?.apply(event as AgentEvent, now);
    }
  }

  /** Replaces a target's history by its reports: something besides this watch has deployed it. */
  relearn(name: string, past: readonly PastDeployment[]): void {
    const kept = this.history.filter(({ target, status }) => target !== name || status === "unchanged");
    const all = [...kept, ...past].toSorted((a, b) => b.at - a.at);
    this.history.splice(0, Infinity, ...all.slice(0, HISTORY_KEPT));
  }

  get deploying(): TargetView[] {
    return [...this.targets.values()].filter((target) => stateOf(target) === "deploying");
  }

  #start(targets: readonly WatchedTarget[]): void {
    const before = new Map(this.targets);
    this.targets.clear();
    for (const given of targets) {
      const known = before.get(given.target);
      this.targets.set(given.target, {
        ...factsAtStart(given, known),
        name: given.target,
        title: printable(given.title ?? given.target),
        kind: given.kind,
        slug: given.slug,
        projectRoot: given.project_root,
        intervalMs: given.interval_ms,
        deployment: known?.deployment,
      });
    }
  }

  #done(target: TargetView, event: Extract<WatchEvent, { event: "deploy.done" }>, now: number): void {
    const { outcome, version, code, duration_ms: durationMs, rollback } = event;
    const message = event.message === null ? null : printable(event.message);
    target.deployment?.finish(outcome, message, now, code);
    const status = outcome !== "deployed" ? outcome : rollback ? "went_back" : "success";
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

/** Returns an event whose message a terminal may show: it may be a hub's or a plugin's. */
function shown(event: WatchEvent): WatchEvent {
  if (!("message" in event) || event.message === null) return event;
  return { ...event, message: printable(event.message) };
}

const byName = (a: TargetView, b: TargetView): number => naturally(a.title, b.title) || (a.name < b.name ? -1 : 1);

/** Returns the targets in the order that a person has chosen; within one state, by name. */
export function orderTargets(targets: readonly TargetView[], order: TargetOrder): readonly TargetView[] {
  switch (order) {
    case "listed":
      return targets;
    case "name":
      return targets.toSorted(byName);
    case "state":
      return targets.toSorted(
        (a, b) => TARGET_STATES.indexOf(stateOf(a)) - TARGET_STATES.indexOf(stateOf(b)) || byName(a, b),
      );
  }
}

/** Applies the loop's events as they arrive, and requests redraws. */
export class DashboardStore extends Pictures {
  readonly model: WatchModel;

  constructor(past: readonly PastDeployment[] = []) {
    super();
    this.model = new WatchModel(past);
  }

  readonly emit = (event: WatchEvent): void => {
    this.model.apply(event, Date.now());
    this.changed();
  };

  /** @see WatchModel.relearn */
  relearn(name: string, past: readonly PastDeployment[]): void {
    this.model.relearn(name, past);
    this.changed();
  }
}
