import { type AcceptedSettings, fleetSettingsFiles } from "../../releases/fleet-settings.ts";
import type { Layout } from "../../releases/layout.ts";
import { removeTemporaries } from "../../releases/leftovers.ts";
import type { AgentEvent } from "../base/events.ts";
import { applySettings } from "../settings/apply.ts";
import type { TurnEnd } from "../settings/first-start.ts";
import { FollowedSettings, type SettingsCheck } from "../settings/follow.ts";
import type { Source } from "../sources/source.ts";
import type { WatchMemory } from "./state.ts";
import type { LoopContext, WatchTarget } from "./target.ts";

/** Settings of the fleet of one watched target. */
export class TargetSettings {
  readonly #of: Source;
  readonly #memory: WatchMemory;
  readonly #context: LoopContext;
  readonly #followed = new FollowedSettings();

  constructor(of: Source, memory: WatchMemory, context: LoopContext) {
    this.#of = of;
    this.#memory = memory;
    this.#context = context;
  }

  /** Removes files that a killed loop of this target left half written, with settings in them. */
  async begin(layout: Layout): Promise<void> {
    for (const file of fleetSettingsFiles(layout, this.#of.target)) await removeTemporaries(file);
  }

  /**
   * Takes newer settings that the last poll has heard of, and carries them out when it is the turn of this root;
   * not while the target is paused.
   */
  async follow(target: WatchTarget, layout: Layout, signal: AbortSignal): Promise<void> {
    const check = await this.#checkOf(target, layout, signal);
    if (check !== undefined) await this.#followed.followOrTell(check);
  }

  /** Says at a turn's end whether a first version works with its settings; an interruption leaves it to the next. */
  async settle(target: WatchTarget, layout: Layout, signal: AbortSignal, end: TurnEnd): Promise<void> {
    const check = signal.aborted ? undefined : await this.#checkOf(target, layout, signal);
    await (check && this.#followed.settle(check, end))?.catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }

  async #checkOf(
    { settings: source, options, hub, name }: WatchTarget,
    layout: Layout,
    signal: AbortSignal,
  ): Promise<SettingsCheck | undefined> {
    const { paused, latest } = await this.#memory.read();
    if (source === undefined || paused) return undefined;
    const of = this.#of;
    const { emit, deployments } = this.#context;
    const tell = (event: AgentEvent): void => emit({ ...event, target: name });
    const carryOut = (settings: AcceptedSettings) => {
      signal.throwIfAborted();
      return applySettings(of, settings, { ...options, signal }, tell);
    };
    return {
      ...{ layout, source, of, named: latest?.settingsVersion ?? undefined, signal },
      emit: tell,
      run: (settings) => deployments.run({ projectRoot: layout.root, hub }, () => carryOut(settings)),
    };
  }
}
