import { resolve } from "node:path";
import { asSealiftError, deploymentError } from "../../contract/errors.ts";
import { dropAhead, type FetchedAhead, hasAhead, readAhead } from "../../releases/ahead.ts";
import { type Layout, layoutOf } from "../../releases/layout.ts";
import { dropPartial, isUselessPartial } from "../../releases/partial.ts";
import { openProjectRoot } from "../../releases/project-root.ts";
import { writeFault } from "../../support/files.ts";
import type { Emit } from "../base/events.ts";
import type { Source } from "../sources/source.ts";
import { decideDeployment, type TargetFacts } from "./decide.ts";
import type { LoopContext, WatchTarget } from "./target.ts";

/** Pause before a failed fetch is tried again, in milliseconds. */
const AGAIN_MS = 15 * 60_000;

/** Version that may be fetched before it runs. */
interface AheadWish {
  /** Only version that may stay; null for none. */
  version: string | null;
  /** Whether it is to be fetched now, if it is not there. */
  fetch: boolean;
  running: string | null;
}

/**
 * Decides which version may be fetched before it runs, by the rules of its deployment: the one that a window holds
 * back, and after the opening the same one, until it runs. While the target is paused, or rights await consent, it is
 * only kept.
 *
 * @param isWished whether the operator wants versions to be fetched ahead
 */
export function aheadWish(facts: TargetFacts, isWished: boolean): AheadWish {
  const { running, latest } = facts;
  const next = latest.next ?? null;
  const version = next ?? latest.version;
  if (!isWished || version === null || version === running) return { version: null, fetch: false, running };
  const open = { ...latest, version, identity: null, withdrawn: null };
  const decision = decideDeployment({ ...facts, latest: open, asked: undefined });
  const waits = decision.do === "hold" && (decision.reason === "paused" || decision.reason === "rights");
  const isWanted = (decision.do === "deploy" || waits) && decision.version === version;
  return { version: isWanted ? version : null, fetch: isWanted && !waits && next !== null, running };
}

interface Fetch {
  version: string;
  abort: AbortController;
  done: Promise<void>;
}

/**
 * Fetches a version held back by a window while the loop of its target continues. There is at most one, and only the
 * disk records which, so a restarted watch finds it.
 */
export class AheadFetch {
  readonly #context: Pick<LoopContext, "deployments" | "emit">;
  #fetching: Fetch | undefined;
  #failed: { version: string; at: number } | undefined;
  /** Whether it was told that a useless partial download stays. */
  #hasTold = false;

  constructor(context: Pick<LoopContext, "deployments" | "emit">) {
    this.#context = context;
  }

  /**
   * Drops a version that is no longer wanted and starts to fetch the one that is. Runs at the end of a turn, and never
   * fails it.
   */
  async settle(target: WatchTarget, facts: () => Promise<TargetFacts>): Promise<void> {
    const { name, fetchAhead: isWished = false, options } = target;
    try {
      const source = target.source("latest");
      const layout = layoutOf(resolve(options.projectRoot));
      await this.#dropUseless(target, source, layout);
      const isThere = await hasAhead(layout, source.target);
      if (isWished || isThere || this.#fetching !== undefined)
        await this.#settle(target, aheadWish(await facts(), isWished));
    } catch (thrown) {
      const message = `Nothing is fetched ahead: ${(thrown as Error).message}`;
      this.#context.emit({ event: "warning", target: name, message });
    }
  }

  /** Removes a partial download that no run will use. A fault of it hinders nothing, and is told once. */
  async #dropUseless(target: WatchTarget, source: Source, layout: Layout): Promise<void> {
    try {
      if (await isUselessPartial(layout, source.target)) await removePartial(target, source);
      this.#hasTold = false;
    } catch (thrown) {
      if (this.#hasTold) return;
      this.#hasTold = true;
      const message = `${layout.partial(source.target)} is of no use, and cannot be removed: ${writeFault(thrown)}.`;
      this.#context.emit({ event: "warning", target: target.name, message });
    }
  }

  async #settle(target: WatchTarget, { version, fetch, running }: AheadWish): Promise<void> {
    const source = target.source(version ?? "latest");
    if (this.#fetching !== undefined) {
      if (this.#fetching.version === version && fetch) return;
      await this.stop();
    }
    const { projectRoot, durability } = target.options;
    await using root = await openProjectRoot(layoutOf(resolve(projectRoot), durability), target.options);
    const { layout } = root;
    const there = await readAhead(layout, source.target);
    if (there !== undefined && there.version === version) return;
    // Also what a killed watch had begun.
    await dropAhead(layout, source.target);
    if (there !== undefined) {
      const reason = there.version === running ? "deployed" : "superseded";
      this.#context.emit({ event: "ahead.dropped", target: target.name, version: there.version, reason });
    }
    if (version === null || !fetch || source.fetchAhead === undefined) return;
    if (this.#failed?.version === version && performance.now() - this.#failed.at < AGAIN_MS) return;
    const abort = new AbortController();
    const done = this.#fetch(target, source, version, abort.signal).finally(() => (this.#fetching = undefined));
    this.#fetching = { version, abort, done };
  }

  /** Waits for the fetch under way, or stops it with the signal. */
  async ended(signal: AbortSignal): Promise<void> {
    const stop = (): void => this.#fetching?.abort.abort();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    await this.#fetching?.done;
    signal.removeEventListener("abort", stop);
  }

  /** Ends the fetch under way and discards it. */
  async stop(): Promise<void> {
    const fetching = this.#fetching;
    fetching?.abort.abort();
    await fetching?.done;
  }

  async #fetch(target: WatchTarget, source: Source, version: string, signal: AbortSignal): Promise<void> {
    const { deployments, emit } = this.#context;
    const { deadlineMs } = target.options;
    let deadline: AbortSignal | undefined;
    try {
      const { bytes } = await deployments.ahead(target.hub, signal, () => {
        deadline = AbortSignal.timeout(deadlineMs);
        return fetchInto(target, source, AbortSignal.any([signal, deadline]), (event) => {
          // Other events of a fetch are those of a deployment, which this is not.
          if (event.event.startsWith("partial.")) emit({ ...event, target: target.name });
        });
      });
      this.#failed = undefined;
      emit({ event: "ahead.fetched", target: target.name, version, bytes });
    } catch (thrown) {
      if (signal.aborted) return;
      const late = `It took longer than ${deadlineMs / 1000} s.`;
      const error = deadline?.aborted === true ? deploymentError("deadline_exceeded", late) : asSealiftError(thrown);
      const { code, message } = error;
      this.#failed = { version, at: performance.now() };
      emit({ event: "ahead.failed", target: target.name, version, code, message });
    }
  }
}

async function removePartial({ options }: WatchTarget, source: Source): Promise<void> {
  const { projectRoot, durability } = options;
  await using root = await openProjectRoot(layoutOf(resolve(projectRoot), durability), options);
  await dropPartial(root.layout, source.target);
}

async function fetchInto(
  { options }: WatchTarget,
  source: Source,
  signal: AbortSignal,
  emit: Emit,
): Promise<FetchedAhead> {
  signal.throwIfAborted();
  const { projectRoot, durability } = options;
  await using root = await openProjectRoot(layoutOf(resolve(projectRoot), durability), options);
  return await source.fetchAhead!({ layout: root.layout, target: source.target, emit, signal });
}
