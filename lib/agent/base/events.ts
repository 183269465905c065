import type { WaitEvent } from "../../client/wait-event.ts";
import type { Code } from "../../contract/codes.ts";
import type { StepOutcome } from "../../contract/surfaces/reports.ts";

/**
 * Event of the agent at work. Renderers (lines, NDJSON, dashboard) read these and nothing else. Names and fields are
 * stable: NDJSON consumers depend on them (`"v": 1`).
 */
export type AgentEvent =
  | {
      event: "deploy.started";
      kind: "project" | "plugin" | "service";
      slug: string;
      requested_version: string;
      deployment_id: string;
      project_root: string;
      /** True for a run that goes back to a kept release. */
      rollback?: boolean;
    }
  | { event: "lock.waiting"; holder: string }
  | { event: "lock.acquired" }
  /** A killed run was ended: `finished` if it had committed, otherwise `undone`. */
  | { event: "recovery.done"; version: string | null; deployment_id: string; outcome: "undone" | "finished" }
  | WaitEvent
  | { event: "auth.ok" }
  | { event: "resolve.ok"; version: string; running_version: string | null }
  | { event: "locate.ok"; size_bytes: number | null }
  | { event: "authorize.ok" }
  /** A delta is fetched instead of the full artifact. */
  | { event: "delta.chosen"; base_version: string; size_bytes: number; full_size_bytes: number | null }
  /** The delta could not be used: the full artifact is fetched after all. */
  | { event: "delta.failed"; base_version: string; code: string; reason: string }
  /** The bytes had been fetched ahead, so the network is not used. */
  | { event: "ahead.used"; version: string; bytes: number }
  /** The bytes fetched ahead are unusable: the hub's are fetched after all. */
  | { event: "ahead.unusable"; version: string; code: string; reason: string }
  /** Bytes that an interrupted run has kept are read from the disk: only the rest is fetched. */
  | { event: "partial.used"; version: string; bytes: number; size_bytes: number }
  /** The kept bytes are unusable, and were removed: all bytes are fetched again. No version is to blame. */
  | { event: "partial.unusable"; version: string; code: string; reason: string }
  /** The download was interrupted, and what came of it is kept for the next run. */
  | { event: "partial.kept"; version: string; bytes: number; size_bytes: number }
  | { event: "fetch.started"; size_bytes: number | null }
  | { event: "fetch.progress"; bytes: number; size_bytes: number | null; unpacked_bytes: number }
  | { event: "fetch.resumed"; bytes: number; reason: string }
  /** `kept_bytes`: how many of the bytes an interrupted run had kept; left out where all came over the network. */
  | { event: "fetch.done"; bytes: number; files: number; unpacked_bytes: number; kept_bytes?: number }
  | { event: "verify.ok"; check: "signature" | "manifest" | "plan" | "hmac" | "archive" | "program" | "policy" }
  /** Rights that an upgrade requires beyond the running release, one line each; without consent it is held. */
  | { event: "rights.more"; version: string; rights: string[]; accepted: boolean }
  /** The version does not meet the host's policy. `repeated`: it was refused for the same reason before. */
  | { event: "policy.refused"; version: string; message: string; repeated: boolean }
  /** The host does not allow an application of the version. `repeated`: it was refused for the same reason before. */
  | { event: "apps.held"; version: string; message: string; repeated: boolean }
  | { event: "source.fetched"; id: string; sha256: string }
  /** A version of the trust root was verified, and counts from now on. `signers`: public keys that it names. */
  | { event: "trust.followed"; root_id: string; version: number; signers: string[] }
  /** A version of the trust root could not be had or verified: the host goes on with the one that it has. */
  | { event: "trust.refused"; origin: string; code: Code; message: string }
  /** Settings of the fleet were verified, and are carried out now. */
  | { event: "settings.taken"; number: number; operator: string }
  /** End of that. `units`: applications that were restarted; `ignored`: settings that were not used. */
  | {
      event: "settings.done";
      number: number;
      state: "applied" | "failed" | "not_back";
      units: readonly string[];
      ignored: readonly string[];
      code: string | null;
      message: string | null;
    }
  /** Settings of the fleet were not taken, or the hub does not hear of them: the host goes on with those it has. */
  | { event: "settings.refused"; code: Code; message: string }
  | { event: "steps.planned"; steps: { id: string; action: string; after_switch: boolean }[] }
  | { event: "step.started"; id: string; action: string; plugin: string | null }
  | { event: "step.done"; outcome: StepOutcome }
  | { event: "output"; source: string; line: string }
  | { event: "switch.started"; release: string; previous: string | null }
  | { event: "switch.done"; release: string }
  | { event: "rollback.started"; reason: string }
  | { event: "rollback.done"; release: string | null }
  /** Answer of what was gone back to. `units`: those that do not work, each with what is wrong with it. */
  | { event: "rollback.asked"; release: string | null; units: Record<string, string> }
  | { event: "commit.done"; release: string }
  | { event: "collect.done"; removed: string[] }
  | { event: "report.written"; path: string }
  | { event: "report.sent" }
  | { event: "warning"; message: string };

export type Emit = (event: AgentEvent) => void;

/** Shortest interval of progress events, in milliseconds. */
const PROGRESS_INTERVAL_MS = 200;

/** Emits the events of `make`, but no more often than people can read. */
export function throttled(emit: Emit, make: () => AgentEvent): () => void {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    const now = performance.now();
    if (now - last < PROGRESS_INTERVAL_MS) return;
    last = now;
    emit(make());
  };
}
