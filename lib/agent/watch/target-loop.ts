import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { retryAfterOf } from "../../client/answers.ts";
import { EXIT, type ExitCode } from "../../contract/codes.ts";
import { asSealiftError, type SealiftError } from "../../contract/errors.ts";
import { damageOf } from "../../releases/contents.ts";
import { type Layout, layoutOf, type Target } from "../../releases/layout.ts";
import { readQuarantine, releaseLeft } from "../../releases/quarantine.ts";
import { currentRelease } from "../../releases/release.ts";
import { deploy } from "../deployment/deploy.ts";
import { DEPLOY_DEFAULTS, type DeployResult } from "../deployment/run.ts";
import type { Source } from "../sources/source.ts";
import type { SupervisorChoice } from "../supervisors/supervisor.ts";
import { decide, type Decision, HELD } from "./decide.ts";
import type { DeploymentQueue } from "./deployment-queue.ts";
import type { EmitWatch, WatchAction, WatchedTarget } from "./events.ts";
import { readPin } from "./pin.ts";
import { recoverTarget } from "./recovery.ts";
import { hasRequests, takeRequests } from "./requests.ts";
import { nextDelay } from "./schedule.ts";
import { WatchMemory } from "./state.ts";
import type { WatchTarget } from "./target.ts";
import { titleOf } from "./title.ts";

/** The context that all loops of one watch share. */
export interface LoopContext {
  deployments: DeploymentQueue;
  /** Runs a poll when a place is free: a thousand targets do not ask at once. */
  polling: <T>(poll: () => Promise<T>) => Promise<T>;
  emit: EmitWatch;
  /** Returns the loop of another target in the same project root. */
  supervisorOf: (layout: Layout, target: Target) => SupervisorChoice | undefined;
  /** From 0 to 1. */
  random: () => number;
}

/** The end of one turn: what `--once` and the back-off need to know. */
export interface TurnResult {
  target: string;
  outcome: DeployResult["outcome"] | "current" | "held" | "unpublished";
  version: string | null;
  exitCode: ExitCode;
  error?: SealiftError;
}

/** The endless turns of one target: ask, decide, deploy, wait. Nothing but its signal ends them. */
export class TargetLoop {
  readonly #context: LoopContext;
  readonly #source: Source;
  readonly #layout: Layout;
  readonly #memory: WatchMemory;
  #target: WatchTarget;
  #asked: "redeploy" | "retry" | undefined;
  #failures = 0;
  #retryAfterMs: number | undefined;
  #announced: string | undefined;
  /** Whether the running release is damaged: looked at once when the loop starts, as after a power cut. */
  #damaged: boolean | undefined;
  #nudge = new AbortController();

  constructor(target: WatchTarget, context: LoopContext) {
    this.#target = target;
    this.#context = context;
    this.#source = target.source("latest");
    this.#layout = layoutOf(resolve(target.options.projectRoot));
    this.#memory = new WatchMemory(this.#layout, this.#source.target);
  }

  get name(): string {
    return this.#target.name;
  }

  get layout(): Layout {
    return this.#layout;
  }

  get supervisor(): SupervisorChoice {
    return this.#target.options.supervisor;
  }

  /** True for the loop of this target in this project root. */
  serves(layout: Layout, target: Target): boolean {
    return this.#layout.root === layout.root && this.#source.target === target;
  }

  /** Takes a changed definition over from the next turn on. @returns false when it is for another project root */
  redefine(target: WatchTarget): boolean {
    if (resolve(target.options.projectRoot) !== this.#layout.root) return false;
    this.#target = target;
    return true;
  }

  /** True when somebody has left a request for this target. */
  async isAsked(): Promise<boolean> {
    return hasRequests(this.#layout, this.#source.target);
  }

  /** The target as it stands, read from disk. */
  async describe(): Promise<WatchedTarget> {
    // A project root that cannot be read fails its own checks and nobody else's.
    const state = await this.#memory.read().catch(() => undefined);
    const title = await titleOf(this.#layout, this.#source.target).catch(() => undefined);
    return {
      target: this.name,
      ...(title !== undefined && { title }),
      kind: this.#source.kind,
      slug: this.#source.slug,
      project_root: this.#layout.root,
      interval_ms: this.#target.intervalMs,
      running_version: await this.#running().catch(() => null),
      latest_version: state?.latest?.version ?? null,
      paused: state?.paused ?? false,
    };
  }

  /**
   * Turns until one of the signals is aborted. After `signal` a deployment under way undoes what is not whole; after `dropped` it is carried
   * out to its end.
   */
  async run(signal: AbortSignal, dropped: AbortSignal): Promise<void> {
    const ending = AbortSignal.any([signal, dropped]);
    while (!ending.aborted) {
      this.#nudge = new AbortController();
      await this.turn(signal, dropped);
      if (ending.aborted) return;
      const delay = nextDelay(
        { intervalMs: this.#target.intervalMs, failures: this.#failures, retryAfterMs: this.#retryAfterMs },
        this.#context.random(),
      );
      const at = new Date(Date.now() + delay).toISOString();
      this.#context.emit({ event: "check.scheduled", target: this.name, at, failures: this.#failures });
      await sleep(delay, undefined, { signal: AbortSignal.any([ending, this.#nudge.signal]) }).catch(() => {});
    }
  }

  /** Takes the request of a person; it is done at once, or after the deployment under way. */
  async act(action: WatchAction): Promise<void> {
    await this.#note(action);
    if (action !== "pause") this.wake();
  }

  async #note(action: WatchAction): Promise<void> {
    const { emit } = this.#context;
    emit({ event: "action.asked", target: this.name, action });
    if (action === "pause" || action === "resume") {
      const paused = action === "pause";
      if ((await this.#memory.read()).paused !== paused) {
        await this.#memory.change({ paused });
        emit({ event: action === "pause" ? "target.paused" : "target.resumed", target: this.name });
      }
    }
    if (action === "resume") await releaseLeft(this.#layout, this.#source.target);
    if (action === "redeploy" || action === "retry") this.#asked = action;
  }

  /** Ends the wait for the next check. */
  wake(): void {
    this.#nudge.abort();
  }

  /**
   * One check, and a deployment when it is due; none is begun for a target that was dropped meanwhile. Never throws: whatever fails is in the
   * result, and counts for the back-off.
   */
  async turn(signal: AbortSignal, dropped?: AbortSignal): Promise<TurnResult> {
    let result: TurnResult;
    try {
      for (const action of await takeRequests(this.#layout, this.#source.target)) await this.#note(action);
      await recoverTarget(this.#source, {
        layout: this.#layout,
        supervisorOf: (other) => this.#context.supervisorOf(this.#layout, other) ?? this.supervisor,
        lockWaitMs: this.#target.options.lockWaitMs ?? DEPLOY_DEFAULTS.lockWaitMs,
        emit: (event) => this.#context.emit({ ...event, target: this.name }),
        signal,
      });
      result = await this.#follow(signal, dropped);
    } catch (thrown) {
      const error = asSealiftError(thrown);
      if (!signal.aborted) {
        const failures = this.#failures + 1;
        const { code, message } = error;
        this.#context.emit({ event: "check.failed", target: this.name, code, message, failures });
      }
      result = { target: this.name, outcome: "failed", version: null, exitCode: error.exitCode, error };
    }
    // What is held waits for a newer version or a person, not for another try.
    const failed = result.exitCode !== EXIT.done && result.outcome !== "held";
    this.#failures = failed ? this.#failures + 1 : 0;
    this.#retryAfterMs = result.error && retryAfterOf(result.error);
    return result;
  }

  async #follow(signal: AbortSignal, dropped: AbortSignal | undefined): Promise<TurnResult> {
    await this.#poll(signal);
    const decision = await this.#decide();
    switch (decision.do) {
      case "nothing": {
        this.#announced = undefined;
        this.#asked = undefined;
        const version = (await this.#memory.read()).latest?.version ?? null;
        const outcome = version === null ? "unpublished" : "current";
        return { target: this.name, outcome, version, exitCode: EXIT.done };
      }
      case "hold":
        return this.#hold(decision);
      case "deploy":
        return this.#deploy(decision.version, signal, dropped);
    }
  }

  async #poll(signal: AbortSignal): Promise<void> {
    const { emit, polling } = this.#context;
    emit({ event: "check.started", target: this.name });
    const before = await this.#memory.read();
    const answer = await polling(() => this.#target.poll(before.latest?.etag ?? undefined, signal));
    if (answer.changed) {
      await this.#memory.change({
        latest: { ...answer.latest, yanked: [...answer.latest.yanked], etag: answer.etag },
      });
    }
    const { latest } = await this.#memory.read();
    const title = await titleOf(this.#layout, this.#source.target);
    emit({
      event: "check.done",
      target: this.name,
      ...(title !== undefined && { title }),
      running_version: await this.#running(),
      latest_version: latest?.version ?? null,
      changed: latest?.version !== before.latest?.version,
    });
  }

  async #decide(): Promise<Decision> {
    const { paused, latest } = await this.#memory.read();
    return decide({
      running: await this.#running(),
      latest: latest ?? { version: null, identity: null, yanked: [] },
      quarantine: await readQuarantine(this.#layout, this.#source.target),
      paused,
      pin: (await readPin(this.#layout, this.#source.target))?.version ?? null,
      damaged: (this.#damaged ??= await this.#isDamaged()),
      allowDowngrade: this.#target.options.allowDowngrade ?? false,
      asked: this.#asked,
    });
  }

  /** Says once why a version is not followed, not at every check. */
  #hold({ version, reason, message }: Extract<Decision, { do: "hold" }>): TurnResult {
    this.#asked = undefined;
    const key = `${reason} ${version}`;
    if (this.#announced !== key)
      this.#context.emit({ event: "target.held", target: this.name, version, reason, message });
    this.#announced = key;
    const held = { target: this.name, outcome: "held" as const, version };
    // A pause is somebody's wish; the others are what somebody should look at.
    if (reason === "paused") return { ...held, exitCode: EXIT.done };
    const error = HELD[reason](`${this.name}: ${message}`);
    return { ...held, exitCode: error.exitCode, error };
  }

  async #deploy(version: string, signal: AbortSignal, dropped: AbortSignal | undefined): Promise<TurnResult> {
    const { deployments, emit } = this.#context;
    emit({ event: "deploy.queued", target: this.name, version });
    return deployments.run(this.#layout.root, async () => {
      signal.throwIfAborted();
      if (dropped?.aborted) return { target: this.name, outcome: "held", version, exitCode: EXIT.done };
      // While it waited somebody may have paused it, or another process may have deployed.
      const decision = await this.#decide();
      this.#asked = undefined;
      if (decision.do === "hold") return this.#hold(decision);
      if (decision.do === "nothing") return { target: this.name, outcome: "current", version, exitCode: EXIT.done };
      this.#announced = undefined;
      return this.#deployNow(decision, signal);
    });
  }

  async #deployNow(decision: Extract<Decision, { do: "deploy" }>, signal: AbortSignal): Promise<TurnResult> {
    const { emit } = this.#context;
    const { source, options } = this.#target;
    const started = performance.now();
    this.#damaged = false;
    const { error, ...result } = await deploy(
      source(decision.version),
      { ...options, reinstall: decision.reinstall, signal },
      (event) => emit({ ...event, target: this.name }),
    );
    emit({
      event: "deploy.done",
      target: this.name,
      outcome: result.outcome,
      version: result.version,
      previous_version: result.previous_version,
      duration_ms: Math.round(performance.now() - started),
      code: error?.code ?? null,
      message: error?.message ?? null,
      report: result.report,
    });
    return {
      target: this.name,
      outcome: result.outcome,
      version: result.version ?? decision.version,
      exitCode: error?.exitCode ?? EXIT.done,
      ...(error !== undefined && { error }),
    };
  }

  async #isDamaged(): Promise<boolean> {
    const { target } = this.#source;
    const release = await currentRelease(this.#layout, target);
    return release !== undefined && (await damageOf(this.#layout, target, release)) !== undefined;
  }

  async #running(): Promise<string | null> {
    return (await currentRelease(this.#layout, this.#source.target))?.version ?? null;
  }
}
