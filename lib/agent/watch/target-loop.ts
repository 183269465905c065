import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { EXIT } from "../../contract/codes.ts";
import { asSealiftError, type SealiftError } from "../../contract/errors.ts";
import type { TargetName } from "../../contract/target.ts";
import type { Layout } from "../../releases/layout.ts";
import { releaseLeft } from "../../releases/quarantine.ts";
import { deploy } from "../deployment/deploy.ts";
import type { DeployResult } from "../deployment/run.ts";
import type { Source } from "../sources/source.ts";
import type { SupervisorChoice } from "../supervisors/supervisor.ts";
import { AheadFetch } from "./ahead.ts";
import {
  afterTurn,
  checkDone,
  doneEvent,
  goBack,
  type Held,
  heldEvent,
  heldTurn,
  type TurnResult,
} from "./check-result.ts";
import { decideDeployment, type Decision, type TargetFacts, waitsForOthers } from "./decide.ts";
import type { HoldReason, WatchAction, WatchedTarget } from "./events.ts";
import { FollowedTrust } from "./followed-trust.ts";
import { onRequests, takeRequests } from "./operator-requests.ts";
import { recoverTarget } from "./recovery.ts";
import { isoNow, nextDelay, untilAborted } from "./schedule.ts";
import { StandingAnswer } from "./standing-answer.ts";
import { WatchMemory } from "./state.ts";
import { StateRecord } from "./state-record.ts";
import type { LoopContext, WatchTarget } from "./target.ts";
import { healthWatchOf } from "./target-health.ts";
import { jobsOf } from "./target-jobs.ts";
import { decisionFacts, describeTarget, isDamaged, lookAt, saysOfItself } from "./target-on-disk.ts";
import { TargetSettings } from "./target-settings.ts";
import { WatchedRoot } from "./watched-root.ts";

/** Endless loop of one target: ask, decide, deploy, wait. Only its signal ends it. */
export class TargetLoop implements AsyncDisposable {
  readonly #context: LoopContext;
  readonly #source: Source;
  readonly #root: WatchedRoot;
  readonly #memory: WatchMemory;
  readonly #record: StateRecord;
  readonly ahead: AheadFetch;
  /** Whether the hub's last answer stands, so that a check needs no request. */
  readonly answer: StandingAnswer;
  readonly #trust = new FollowedTrust((event) => this.#context.emit({ ...event, target: this.name }));
  readonly #settings: TargetSettings;
  #target: WatchTarget;
  #asked: TargetFacts["asked"];
  #failures = 0;
  #lastError: SealiftError | undefined;
  #announced: string | undefined;
  /** Reason why the version is not followed by the last decision; the next field is the pinned version. */
  #held: HoldReason | null = null;
  #pin: string | null = null;
  /** Time when a rollout's window opens, if the hub announced it, in milliseconds since 1970. */
  #opensAt: number | undefined;
  /** Whether the running release is damaged: checked once when the loop starts, as after a power cut. */
  #damaged: boolean | undefined;
  #nudge = new AbortController();

  constructor(target: WatchTarget, context: LoopContext) {
    this.#target = target;
    this.#source = target.source("latest");
    this.#root = new WatchedRoot(target.options.projectRoot);
    this.#memory = new WatchMemory(this.#root, this.#source.target);
    this.#record = new StateRecord(this.#memory);
    this.#context = { ...context, emit: this.#record.hearing(context.emit) };
    this.ahead = new AheadFetch(this.#context);
    this.answer = new StandingAnswer(context.random);
    this.#settings = new TargetSettings(this.#source, this.#memory, this.#context);
  }

  get name(): string {
    return this.#target.name;
  }

  get #layout(): Layout {
    return this.#root.layout;
  }
  get supervisor(): SupervisorChoice {
    return this.#target.options.supervisor;
  }

  /** True for the loop of this target in this project root. */
  serves(layout: Layout, target: TargetName): boolean {
    return this.#layout.root === layout.root && this.#source.target === target;
  }

  /** Takes over a changed definition, which may have other labels. @returns false for another project root */
  redefine(target: WatchTarget): boolean {
    if (resolve(target.options.projectRoot) !== this.#layout.root) return false;
    this.#target = target;
    this.answer.doubt();
    if (waitsForOthers(this.#held)) this.#asked ??= "check";
    if (this.#failures > 0 || this.#held === "quarantined" || waitsForOthers(this.#held)) this.wake();
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.ahead.stop();
    await this.#record.end();
    await this.#root[Symbol.asyncDispose]();
  }

  async describe(): Promise<WatchedTarget> {
    return this.#record.begin(await describeTarget(this.#target, this.#source, this.#layout, this.#memory));
  }

  /**
   * Runs turns until one of the signals is aborted. After `signal` a deployment under way undoes what is incomplete;
   * after `dropped` it is completed. A root that is refused is told by each check.
   */
  async run(signal: AbortSignal, dropped: AbortSignal): Promise<void> {
    const ending = AbortSignal.any([signal, dropped]);
    await using ended = new AsyncDisposableStack();
    ended.use<AsyncDisposable>(this);
    const refusal = await this.#root.enter(this.#target.options).catch(asSealiftError);
    if (refusal === undefined) await Promise.all([this.#memory.begin(), this.#settings.begin(this.#layout)]);
    using _requests =
      refusal === undefined ? await onRequests(this.#root, this.#source.target, () => this.wake()) : undefined;
    const watched = { of: this.#source, root: this.#root, definition: () => this.#target };
    ended.use(healthWatchOf(watched, this.#context, () => this.wake("hint")).begin(ending));
    ended.use(jobsOf(this.#source, this.#root, () => this.#target, this.#context, ending));
    while (!ending.aborted) {
      this.#nudge = new AbortController();
      await this.turn(signal, dropped);
      const woken = AbortSignal.any([ending, this.#nudge.signal]);
      if (ending.aborted || (this.#lastError?.code === "host_removed" && (await untilAborted(woken)))) continue;
      const again = await lookAt(this.#layout, this.#source.target, this.#held);
      const delay = nextDelay(
        {
          ...{ intervalMs: this.#target.intervalMs, failures: this.#failures },
          retryAfterMs: this.#lastError?.retryAfterMs,
          dueInMs: Math.min(this.#opensAt ?? Infinity, again) - Date.now(),
        },
        this.#context.random(),
      );
      const standing = { failures: this.#failures, held: this.#held, pin: this.#pin };
      const at = new Date(Date.now() + delay).toISOString();
      this.#context.emit({ event: "check.scheduled", target: this.name, at, ...standing });
      await sleep(delay, undefined, { signal: woken }).catch(() => {});
    }
  }

  /** Carries out the request of a person, at once or after the deployment under way. */
  async act(action: WatchAction): Promise<void> {
    await this.#note(action);
    if (action !== "pause") this.wake();
  }

  /** Goes back to the previous release; the next check follows at once. */
  async goBack(signal: AbortSignal): Promise<void> {
    await goBack(this.#target, this.#context, signal);
    this.wake();
  }

  async #note(action: WatchAction): Promise<void> {
    const { emit } = this.#context;
    await this.#root.enter(this.#target.options);
    emit({ event: "action.asked", target: this.name, action });
    if ((action === "pause" || action === "resume") && (await this.#memory.pause(action === "pause")))
      emit({ event: action === "pause" ? "target.paused" : "target.resumed", target: this.name });
    if (action === "resume") await releaseLeft(this.#layout, this.#source.target);
    if (action === "check") this.#asked ??= action;
    if (action === "redeploy" || action === "retry") this.#asked = action;
  }

  /** Ends the wait for the next check. A host that was removed waits for a person, and heeds no hint. */
  wake(by: "person" | "hint" = "person"): void {
    this.answer.doubt();
    if (by === "person" || this.#lastError?.code !== "host_removed") this.#nudge.abort();
  }

  /**
   * Runs one check, and a deployment when it is due, unless the target was dropped meanwhile. Never throws: failures
   * are in the result, and count for the back-off.
   */
  async turn(signal: AbortSignal, dropped?: AbortSignal): Promise<TurnResult> {
    let result: TurnResult;
    try {
      await this.#root.enter(this.#target.options);
      for (const action of await takeRequests(this.#layout, this.#source.target)) await this.#note(action);
      await recoverTarget(this.#source, { layout: this.#layout, target: this.#target, context: this.#context, signal });
      result = await this.#follow(signal, dropped);
      await this.#settings.settle(this.#target, this.#layout, signal, result);
      if (!signal.aborted && dropped?.aborted !== true) await this.ahead.settle(this.#target, () => this.#facts());
    } catch (thrown) {
      const error = asSealiftError(thrown);
      const failed = { code: error.code, message: error.message, failures: this.#failures + 1 };
      if (!signal.aborted) this.#context.emit({ event: "check.failed", at: isoNow(), target: this.name, ...failed });
      result = { target: this.name, outcome: "failed", version: null, exitCode: error.exitCode, error };
    }
    // A held version waits for a newer version or a person, so retries are useless.
    this.#failures = result.exitCode !== EXIT.done && result.outcome !== "held" ? this.#failures + 1 : 0;
    this.#lastError = result.error;
    return result;
  }

  async #follow(signal: AbortSignal, dropped: AbortSignal | undefined): Promise<TurnResult> {
    await this.#poll(signal);
    await this.#settings.follow(this.#target, this.#layout, signal);
    const decision = await this.#decide();
    switch (decision.do) {
      case "nothing": {
        this.#announced = this.#asked = undefined;
        const version = (await this.#memory.read()).latest?.version ?? null;
        const outcome = version === null ? "unpublished" : "current";
        return { target: this.name, outcome, version, exitCode: EXIT.done };
      }
      case "hold":
        return this.#hold(decision);
      case "go-back":
        return this.#after(await goBack(this.#target, this.#context, signal, true));
      case "deploy":
        return this.#deploy(decision.version, signal, dropped);
    }
  }

  async #poll(signal: AbortSignal): Promise<void> {
    const { emit, polling } = this.#context;
    emit({ event: "check.started", at: isoNow(), target: this.name });
    const before = await this.#memory.read();
    const { running, root } = await saysOfItself(this.#layout, this.#source.target);
    const isDue =
      this.#failures > 0 || waitsForOthers(this.#held) || Date.parse(before.latest?.nextAt ?? "") <= Date.now();
    const answer = await this.answer.polled(JSON.stringify([running, root]), isDue, () =>
      polling(this.#target.hub, () => this.#target.poll(before.latest?.etag ?? undefined, signal, running, root)),
    );
    if (answer.changed)
      await this.#memory.change({ latest: { ...answer.latest, yanked: [...answer.latest.yanked], etag: answer.etag } });
    const { latest } = await this.#memory.read();
    await this.#trust.follow(this.#target.source("latest"), this.#layout, latest?.rootVersion ?? undefined, signal);
    const opensAt = Date.parse(latest?.nextAt ?? "");
    this.#opensAt = opensAt > Date.now() ? opensAt : undefined;
    await this.#memory.rename(answer.projectName);
    if (answer.notice !== undefined) emit({ event: "warning", target: this.name, message: answer.notice });
    const versions = { running, latest: latest?.version ?? null, before: before.latest?.version ?? null };
    emit(await checkDone(this.name, this.#layout, this.#target.source("latest"), versions, answer.projectName));
  }

  async #decide(): Promise<Decision> {
    const facts = await this.#facts();
    this.#pin = facts.pin;
    this.#held = null;
    return decideDeployment(facts);
  }

  async #facts(): Promise<TargetFacts & { pin: string | null }> {
    this.#damaged ??= await isDamaged(this.#layout, this.#source.target);
    const loop = { damaged: this.#damaged, asked: this.#asked };
    return decisionFacts(this.#layout, this.#target, await this.#memory.read(), loop);
  }

  /** Reports once why a version is not followed, not at every check. */
  #hold(decision: Held): TurnResult {
    this.#asked = undefined;
    this.#held = decision.reason;
    const key = `${decision.reason} ${decision.version} ${decision.message}`;
    if (this.#announced !== key) this.#context.emit(heldEvent(this.name, decision));
    this.#announced = key;
    return heldTurn(this.name, this.#source, decision);
  }

  async #deploy(version: string, signal: AbortSignal, dropped: AbortSignal | undefined): Promise<TurnResult> {
    const { deployments, emit } = this.#context;
    emit({ event: "deploy.queued", target: this.name, version });
    return deployments.run({ projectRoot: this.#layout.root, hub: this.#target.hub }, async () => {
      signal.throwIfAborted();
      if (dropped?.aborted) return { target: this.name, outcome: "held", version, exitCode: EXIT.done };
      // While it waited somebody may have paused it, or another process may have deployed.
      const decision = await this.#decide();
      this.#asked = undefined;
      if (decision.do === "hold") return this.#hold(decision);
      if (decision.do !== "deploy") return { target: this.name, outcome: "current", version, exitCode: EXIT.done };
      this.#announced = undefined;
      return this.#deployNow(decision, signal);
    });
  }

  async #deployNow(decision: Extract<Decision, { do: "deploy" }>, signal: AbortSignal): Promise<TurnResult> {
    const { emit } = this.#context;
    const { source, options } = this.#target;
    const started = performance.now();
    // The deployment fetches the rest itself.
    await this.ahead.stop();
    this.#damaged = false;
    const chosen = { ...options, reinstall: decision.reinstall, signal };
    const result = await deploy(source(decision.version), chosen, (event) => emit({ ...event, target: this.name }));
    emit(doneEvent(this.name, result, started));
    return this.#after({ ...result, version: result.version ?? decision.version });
  }

  #after(result: DeployResult): TurnResult {
    return afterTurn(this.#target, this.#source.target, (held) => this.#hold(held), result);
  }
}
