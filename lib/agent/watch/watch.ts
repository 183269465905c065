import { HEALTH_TIMES, type HealthTimes } from "../health/health-watch.ts";
import type { TurnResult } from "./check-result.ts";
import { DeploymentQueue, HubSlots } from "./deployment-queue.ts";
import type { EmitWatch, WatchAction } from "./events.ts";
import { Hints, type HintTimes } from "./hints.ts";
import type { LoopContext, WatchTarget } from "./target.ts";
import { TargetLocks } from "./target-locks.ts";
import { TargetLoop } from "./target-loop.ts";

/** Most simultaneous polls of one hub. */
const POLLS_AT_ONCE = 8;

interface Running {
  loop: TargetLoop;
  stop: AbortController;
  done: Promise<void>;
}

/**
 * Watch loop (docs/contract/agent.md, rule 9): many targets in one process, each with its own rhythm, never two
 * simultaneous deployments in one project root. An unreachable hub only lengthens the pauses; nothing ends the loop but
 * its signal.
 */
export class Watch {
  readonly #context: LoopContext;
  readonly #emit: EmitWatch;
  readonly #running = new Map<string, Running>();
  /** Loops of dropped targets, and rollbacks, that have not ended yet. */
  readonly #leaving = new Set<Promise<void>>();
  #loops: readonly TargetLoop[] = [];
  #targets: readonly WatchTarget[];
  #signal: AbortSignal | undefined;
  readonly #locks = new TargetLocks();
  readonly #hintTimes: Partial<HintTimes> | undefined;
  #hints: Hints | undefined;

  /** @param random from 0 to 1, for jitter; tests replace it, and the times */
  constructor(
    targets: readonly WatchTarget[],
    emit: EmitWatch,
    random: () => number = Math.random,
    hintTimes?: Partial<HintTimes>,
    healthTimes?: Partial<HealthTimes>,
  ) {
    this.#hintTimes = hintTimes;
    const polls = new HubSlots(POLLS_AT_ONCE);
    this.#targets = targets;
    this.#emit = emit;
    this.#context = {
      deployments: new DeploymentQueue(),
      polling: (hub, poll) => polls.run(hub, poll),
      supervisorOf: (layout, target) => this.#loops.find((loop) => loop.serves(layout, target))?.supervisor,
      ...{ emit, random, healthTimes: { ...HEALTH_TIMES, ...healthTimes } },
    };
  }

  /** Runs one turn of every target. @returns the result of each */
  async once(signal: AbortSignal): Promise<TurnResult[]> {
    await this.#announce(this.#targets.map((target) => new TargetLoop(target, this.#context)));
    return Promise.all(
      this.#loops.map(async (loop) => {
        await using _loop = loop;
        const result = await loop.turn(signal);
        await loop.ahead.ended(signal);
        return result;
      }),
    );
  }

  /**
   * Watches until the signal is aborted; deployments under way then complete or undo their switch.
   *
   * @throws DeploymentError `target_watched` where another watch has one of the targets
   */
  async run(signal: AbortSignal): Promise<void> {
    await using locks = this.#locks;
    await locks.take(this.#targets);
    this.#signal = signal;
    await using hints = new Hints({
      look: (name) => this.#running.get(name)?.loop.wake("hint"),
      flows: (name, isFlowing) => this.#running.get(name)?.loop.answer.flows(isFlowing),
      ...{ emit: this.#emit, random: this.#context.random, times: this.#hintTimes },
    });
    this.#hints = hints;
    await this.#start(this.#targets);
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
    this.#emit({ event: "watch.stopping" });
    hints.replace([]);
    await Promise.all([...[...this.#running.values()].map(({ done }) => done), ...this.#leaving]);
  }

  /**
   * Applies a person's request to a target; one that cannot be met is a warning. @returns false without a target of
   * that name
   */
  async act(name: string, action: WatchAction): Promise<boolean> {
    const found = this.#running.get(name);
    try {
      await found?.loop.act(action);
    } catch (error) {
      this.#warn(`${action} of ${name} failed: ${(error as Error).message}`);
    }
    return found !== undefined;
  }

  /**
   * Rolls a target back to the release that ran before, on a person's request; failing to start is a warning. An ending
   * watch waits for it. @returns false without a target of that name
   */
  goBack(name: string): boolean {
    const found = this.#running.get(name);
    if (found === undefined || this.#signal === undefined) return false;
    const work = found.loop
      .goBack(this.#signal)
      .catch((error: unknown) => this.#warn(`Going back with ${name} failed: ${(error as Error).message}`))
      .finally(() => this.#leaving.delete(work));
    this.#leaving.add(work);
    return true;
  }

  /**
   * Replaces the watched targets. Remaining ones take their new definition, and keep their rhythm unless they fail;
   * dropped ones finish their current deployment, for which only {@link run} waits.
   *
   * @throws DeploymentError `target_watched`, without any change
   */
  async replace(targets: readonly WatchTarget[]): Promise<void> {
    if (this.#signal !== undefined && !this.#signal.aborted) await this.#locks.take(targets);
    this.#targets = targets;
    if (this.#signal === undefined || this.#signal.aborted) return;
    const before = [...this.#running];
    const names = new Set(targets.map(({ name }) => name));
    for (const [name, running] of this.#running) {
      if (names.has(name)) continue;
      this.#running.delete(name);
      running.stop.abort();
      const left = running.done.finally(() => this.#leaving.delete(left));
      this.#leaving.add(left);
    }
    await this.#start(targets);
    const left = before.filter(([name, running]) => this.#running.get(name) !== running);
    Promise.all(left.map(([, { done }]) => done))
      .then(() => this.#locks.keep(this.#targets))
      .catch((error: unknown) => this.#warn(`A target was not given up: ${(error as Error).message}`));
  }

  async #start(targets: readonly WatchTarget[]): Promise<void> {
    const started: Running[] = [];
    for (const target of targets) {
      const running = this.#running.get(target.name);
      if (running !== undefined && running.loop.redefine(target)) continue;
      // A target that moved to another project root is another target.
      running?.stop.abort();
      const done = running?.done ?? Promise.resolve();
      const next = { loop: new TargetLoop(target, this.#context), stop: new AbortController(), done };
      this.#running.set(target.name, next);
      started.push(next);
    }
    await this.#announce([...this.#running.values()].map(({ loop }) => loop));
    for (const next of started) next.done = next.done.then(() => next.loop.run(this.#signal!, next.stop.signal));
    this.#hints?.replace(targets);
  }

  #warn(message: string): void {
    this.#emit({ event: "watch.warning", message });
  }

  async #announce(loops: readonly TargetLoop[]): Promise<void> {
    this.#loops = loops;
    this.#emit({ event: "watch.started", targets: await Promise.all(loops.map((loop) => loop.describe())) });
  }
}
