import type { AgentEvent } from "../agent/base/events.ts";
import { deploySentence } from "../agent/base/sentences.ts";
import type { DeployResult } from "../agent/deployment/run.ts";
import { type Code, CODES, EXIT } from "../contract/codes.ts";
import { Transfer } from "./transfer.ts";

export const STAGES = ["resolve", "download", "unpack", "verify", "install", "switch", "health"] as const;
export type StageName = (typeof STAGES)[number];

export interface Stage {
  name: StageName;
  status: "waiting" | "active" | "done" | "failed" | "undone";
  /** Fraction done, from 0 to 1. */
  fraction: number;
}

export interface StepView {
  id: string;
  action: string;
  status: "waiting" | "active" | "done" | "failed" | "skipped";
  durationMs?: number;
  message?: string;
}

/** Number of checks that each source makes. */
const CHECKS = 3;
const MAX_WARNINGS = 5;
/** Lines of a plugin's or program's output that are kept. */
const OUTPUT_LINES = 50;

/** Deployment as a pipeline of stages, computed from its events. */
export class DeploymentModel {
  readonly startedAt: number;
  readonly checks: string[] = [];
  readonly steps: StepView[] = [];
  readonly output: string[] = [];
  readonly warnings: string[] = [];
  readonly transfer = new Transfer();
  readonly unpacking = new Transfer();
  version: string;
  previous: string | null;
  endedAt: number | undefined;
  outcome: DeployResult["outcome"] | undefined;
  message: string | undefined;
  note: string | undefined;
  bytes = 0;
  size: number | null = null;
  unpackedBytes = 0;
  files: number | undefined;
  #reached: StageName = "resolve";
  #fetched = false;
  #switched = false;
  #committed = false;
  #rolledBack = false;
  #stepsAfter = 0;
  /** Whether verification has rejected the bytes, at whichever stage they were. */
  #rejected = false;

  constructor(version: string, previous: string | null, at: number) {
    this.version = version;
    this.previous = previous;
    this.startedAt = at;
  }

  apply(event: AgentEvent, at: number): void {
    switch (event.event) {
      case "lock.waiting":
        this.note = `waiting for ${event.holder}`;
        break;
      case "lock.acquired":
        this.note = undefined;
        break;
      case "resolve.ok":
        this.version = event.version;
        this.previous = event.running_version;
        break;
      case "locate.ok":
        this.size = event.size_bytes;
        break;
      case "delta.chosen":
      case "partial.used":
      case "partial.kept":
        this.note = deploySentence(event);
        break;
      case "delta.failed":
      case "partial.unusable":
        this.note = deploySentence(event);
        this.checks.length = 0;
        this.#fetched = false;
        this.#reached = "download";
        break;
      case "fetch.started":
        this.#reached = "download";
        this.size = event.size_bytes;
        this.transfer.add(at, 0);
        this.unpacking.add(at, 0);
        break;
      case "fetch.progress":
        this.bytes = event.bytes;
        this.size = event.size_bytes ?? this.size;
        this.unpackedBytes = event.unpacked_bytes;
        this.transfer.add(at, event.bytes);
        this.unpacking.add(at, event.unpacked_bytes);
        break;
      case "hub.waiting":
        this.note = deploySentence(event);
        break;
      case "fetch.resumed":
        this.note = `connection lost, going on (${event.reason})`;
        break;
      case "fetch.done":
        this.bytes = event.bytes;
        this.unpackedBytes = event.unpacked_bytes;
        this.files = event.files;
        this.transfer.add(at, event.bytes);
        this.unpacking.add(at, event.unpacked_bytes);
        this.#fetched = true;
        this.note = undefined;
        break;
      case "verify.ok":
        this.checks.push(event.check);
        this.#reached = "verify";
        break;
      case "steps.planned":
        this.steps.push(...event.steps.map(({ id, action }): StepView => ({ id, action, status: "waiting" })));
        this.#stepsAfter = event.steps.filter(({ after_switch: after }) => after).length;
        this.#reached = "install";
        break;
      case "step.started":
        this.#step(event.id, { status: "active" });
        break;
      case "step.done": {
        const { id, status, duration_ms: durationMs, error_message: message } = event.outcome;
        this.#step(id, { status, durationMs, ...(message !== null && { message }) });
        break;
      }
      case "output":
        this.output.push(`${event.source} | ${event.line}`);
        if (this.output.length > OUTPUT_LINES) this.output.shift();
        break;
      case "warning":
        if (this.warnings.length < MAX_WARNINGS) this.warnings.push(event.message);
        break;
      case "switch.started":
        this.#reached = "switch";
        break;
      case "switch.done":
        this.#switched = true;
        this.#reached = "health";
        break;
      case "commit.done":
        this.#committed = true;
        break;
      case "rollback.started":
        this.note = `rolling back: ${event.reason}`;
        break;
      case "rollback.done":
        this.#rolledBack = true;
        this.note = event.release === null ? "rolled back: nothing is installed" : `rolled back to ${event.release}`;
        break;
      default:
    }
  }

  /** Ends the deployment with its result. @param code of the first error */
  finish(outcome: DeployResult["outcome"], message: string | null, at: number, code: string | null = null): void {
    this.endedAt = at;
    this.#rejected = code !== null && code in CODES && CODES[code as Code].exit === EXIT.verification;
    this.outcome = outcome;
    if (message !== null) this.message = message;
  }

  /** Progress of the whole deployment, from 0 to 1. Most of it is the download. */
  get fraction(): number {
    const weights: Record<StageName, number> = {
      resolve: 0.05,
      download: 0.55,
      unpack: 0.1,
      verify: 0.05,
      install: 0.1,
      switch: 0.05,
      health: 0.1,
    };
    return this.stages.reduce((sum, { name, fraction }) => sum + weights[name] * fraction, 0);
  }

  /** Active stage, for a table's cell. */
  get activeStage(): StageName {
    return this.stages.find(({ status }) => status === "active" || status === "failed")?.name ?? this.#reached;
  }

  get stages(): Stage[] {
    const whole = this.#committed || this.outcome === "unchanged";
    const failed = this.outcome === "failed" || this.outcome === "rolled_back";
    const fractions = this.#fractions();
    const firstOpen = STAGES.findIndex((name) => fractions[name] < 1);
    const culprit = this.#rejected ? STAGES.indexOf("verify") : firstOpen;
    return STAGES.map((name, index): Stage => {
      const fraction = fractions[name];
      if (whole || (fraction >= 1 && !(failed && index === culprit))) {
        return { name, fraction: 1, status: this.#rolledBack && name === "switch" ? "undone" : "done" };
      }
      if (failed) return { name, fraction, status: index === culprit ? "failed" : "waiting" };
      // Bytes are unpacked and verified as they arrive: these stages run together.
      return { name, fraction, status: index === firstOpen || fraction > 0 ? "active" : "waiting" };
    });
  }

  #fractions(): Record<StageName, number> {
    const done = (steps: readonly StepView[]): number =>
      steps.length === 0
        ? 1
        : steps.filter(({ status }) => status === "done" || status === "skipped").length / steps.length;
    const before = this.steps.slice(0, this.steps.length - this.#stepsAfter);
    const after = this.steps.slice(this.steps.length - this.#stepsAfter);
    const planned = this.steps.length > 0;
    const share = this.size === null || this.size === 0 ? 0 : Math.min(1, this.bytes / this.size);
    const arrived = this.#fetched || planned ? 1 : share;
    return {
      resolve: this.#reached === "resolve" ? 0 : 1,
      download: arrived,
      unpack: this.#fetched || planned ? 1 : this.unpackedBytes > 0 ? Math.min(0.99, arrived) : 0,
      verify: Math.min(1, this.checks.length / CHECKS),
      install: planned ? done(before) : 0,
      switch: this.#switched ? 1 : 0,
      health: this.#switched ? done(after) : 0,
    };
  }

  #step(id: string, change: Partial<StepView>): void {
    const index = this.steps.findIndex((step) => step.id === id);
    if (index >= 0) this.steps[index] = { ...this.steps[index]!, ...change };
  }
}
