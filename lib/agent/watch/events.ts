import type { Code } from "../../contract/codes.ts";
import type { Health } from "../../contract/surfaces/host-record.ts";
import type { Sick } from "../../releases/health.ts";
import type { AgentEvent } from "../base/events.ts";
import type { DeployResult } from "../deployment/run.ts";

/** Reason why a new version is not followed (docs/contract/host.md). */
export type HoldReason = "paused" | "quarantined" | "downgrade" | "rights" | "policy" | "application" | "settings";

/** Requests that a person may make of a watched target. */
export const WATCH_ACTIONS = ["pause", "resume", "check", "redeploy", "retry"] as const;
export type WatchAction = (typeof WATCH_ACTIONS)[number];

/** Watched target, as of the start of the loop. */
export interface WatchedTarget {
  target: string;
  /** Display name of the target, once a release has told it: `project:Harbour`. */
  title?: string;
  kind: "project" | "plugin" | "service";
  slug: string;
  project_root: string;
  interval_ms: number;
  running_version: string | null;
  latest_version: string | null;
  /** Version that `rollback` would go back to; older watches do not say. */
  previous_version?: string | null;
  paused: boolean;
  /** Since when what runs is unhealthy, if it is. */
  unhealthy?: Sick;
}

/**
 * Event of the watch loop, in addition to the agent's own events of each deployment, which carry the target's name.
 * Names and fields are stable, like those of the agent. Times are ISO 8601, UTC.
 */
export type WatchEvent =
  /** Also emitted after a reload of the configuration: exactly these targets are watched from here on. */
  | { event: "watch.started"; targets: WatchedTarget[] }
  | { event: "check.started"; at: string; target: string }
  | {
      event: "check.done";
      /** ISO 8601. */
      at: string;
      target: string;
      running_version: string | null;
      latest_version: string | null;
      /** Version that `rollback` would go back to. */
      previous_version?: string | null;
      changed: boolean;
      title?: string;
    }
  | { event: "check.failed"; at: string; target: string; code: Code; message: string; failures: number }
  /** End of a turn. `held`: why the version is not followed; `pin`: pinned version. */
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
  /** The version that a window holds back is on this host, verified. */
  | { event: "ahead.fetched"; target: string; version: string; bytes: number }
  /** A fetch ahead failed: it is tried again later, or the version is fetched when it may be deployed. */
  | { event: "ahead.failed"; target: string; version: string; code: Code; message: string }
  /** Bytes fetched ahead were dropped: `deployed`, or `superseded` by another version, a halt, a pin or a hold. */
  | { event: "ahead.dropped"; target: string; version: string; reason: "deployed" | "superseded" }
  /** The running version became unhealthy after its deployment, or healthy again. `message`: what is wrong. */
  | { event: "health.changed"; target: string; state: Health["state"]; since: string; message: string | null }
  | { event: "deploy.queued"; target: string; version: string }
  | {
      event: "deploy.done";
      /** ISO 8601. */
      at: string;
      target: string;
      /** True when the target went back to a kept release. */
      rollback?: true;
      outcome: DeployResult["outcome"];
      version: string | null;
      previous_version: string | null;
      duration_ms: number;
      code: Code | null;
      message: string | null;
      report: string | null;
    }
  /** A hub sends hints of changes of this many targets. */
  | { event: "hints.connected"; hub: string; targets: number }
  /** A hub's hints were lost: only polls find changes until the connection is back. */
  | { event: "hints.lost"; hub: string; code: Code; message: string; at: string }
  | { event: "watch.warning"; message: string }
  | { event: "watch.stopping" }
  | (AgentEvent & { target: string });

export type EmitWatch = (event: WatchEvent) => void;
