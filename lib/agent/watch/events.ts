import type { Code } from "../../contract/codes.ts";
import type { AgentEvent } from "../base/events.ts";
import type { DeployResult } from "../deployment/run.ts";

/** Why a new version is not followed (docs/contract/host.md). */
export type HoldReason = "paused" | "quarantined" | "downgrade" | "rights" | "policy";

/** The requests that a person may make of a watched target. */
export const WATCH_ACTIONS = ["pause", "resume", "check", "redeploy", "retry"] as const;
export type WatchAction = (typeof WATCH_ACTIONS)[number];

/** One watched target as it stands when the loop starts. */
export interface WatchedTarget {
  target: string;
  /** The target's name for people, once a release has told it: `project:Harbour`. */
  title?: string;
  kind: "project" | "plugin" | "service";
  slug: string;
  project_root: string;
  interval_ms: number;
  running_version: string | null;
  latest_version: string | null;
  paused: boolean;
}

/**
 * The events of the watch loop, beside the agent's own events of each deployment, which carry the target's name. Names
 * and fields are stable, as those of the agent's are. Times are ISO 8601, UTC.
 */
export type WatchEvent =
  /** Also after a reload of the configuration: these targets and no others are watched from here on. */
  | { event: "watch.started"; targets: WatchedTarget[] }
  | { event: "check.started"; target: string }
  | {
      event: "check.done";
      /** ISO 8601. */
      at: string;
      target: string;
      running_version: string | null;
      latest_version: string | null;
      changed: boolean;
      title?: string;
    }
  | { event: "check.failed"; target: string; code: Code; message: string; failures: number }
  /** The end of a turn. `held`: why the version is not followed; `pin`: the version that a person keeps it at. */
  | {
      event: "check.scheduled";
      target: string;
      at: string;
      failures: number;
      held?: HoldReason | null;
      pin?: string | null;
    }
  | {
      event: "target.held";
      target: string;
      version: string;
      reason: HoldReason;
      message: string;
      rights?: readonly string[];
    }
  | { event: "target.paused"; target: string }
  | { event: "target.resumed"; target: string }
  | { event: "action.asked"; target: string; action: WatchAction }
  /** The version that a window keeps back is on this host, verified. */
  | { event: "ahead.fetched"; target: string; version: string; bytes: number }
  /** It could not be fetched: it is tried again later, or fetched when it may be deployed. */
  | { event: "ahead.failed"; target: string; version: string; code: Code; message: string }
  /** It went: `deployed`, or `superseded` by another version, a halt, a pin or a hold. */
  | { event: "ahead.dropped"; target: string; version: string; reason: "deployed" | "superseded" }
  | { event: "deploy.queued"; target: string; version: string }
  | {
      event: "deploy.done";
      /** ISO 8601. */
      at: string;
      target: string;
      /** It went back to a kept release. */
      rollback?: true;
      outcome: DeployResult["outcome"];
      version: string | null;
      previous_version: string | null;
      duration_ms: number;
      code: Code | null;
      message: string | null;
      report: string | null;
    }
  /** A hub tells at once of changes of so many targets. */
  | { event: "hints.connected"; hub: string; targets: number }
  /** It does not, for now: polls alone find changes until it is tried again. */
  | { event: "hints.lost"; hub: string; code: Code; message: string; at: string }
  | { event: "watch.warning"; message: string }
  | { event: "watch.stopping" }
  | (AgentEvent & { target: string });

export type EmitWatch = (event: WatchEvent) => void;
