import { setTimeout as sleep } from "node:timers/promises";
import { counted } from "../../support/counted.ts";
import { probe } from "./probe.ts";
import { type Sample, SAMPLE_INTERVAL_MS, type UnitHealth } from "./supervisor.ts";

/** Time between the first two questions for an answer, in milliseconds; it doubles up to that of samples. */
const FIRST_PAUSE_MS = 100;

export interface Settling {
  /** Looks at a unit's process. */
  sample: () => Promise<Sample>;
  /** Asks whether it works; without it, running is enough. @returns what is wrong, if anything */
  ask?: (() => Promise<string | undefined>) | undefined;
  /** Time limit for the first healthy answer, in milliseconds. */
  withinMs: number;
  /** Time for which it must go on after that, in milliseconds. */
  staysUpMs: number;
  signal?: AbortSignal | undefined;
}

/**
 * Checks a unit that was just started: it answers in time, and goes on for a while without a restart or a fault.
 *
 * @returns undefined when healthy, otherwise what is wrong
 */
export async function settles({ sample, ask, withinMs, staysUpMs, signal }: Settling): Promise<string | undefined> {
  const started = performance.now();
  const first = await sample();
  if (first.fault !== undefined) return first.fault;
  const pause = (ms: number): Promise<void> => sleep(ms, undefined, signal && { signal });
  const changed = async (): Promise<string | undefined> => {
    const { fault, restarts } = await sample();
    if (fault !== undefined) return fault;
    if (restarts === first.restarts) return undefined;
    const seconds = Math.max(1, Math.round((performance.now() - started) / 1000));
    return `it was restarted ${restarts - first.restarts} times within ${counted(seconds, "second")}`;
  };
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, SAMPLE_INTERVAL_MS)) {
    const fault = await ask?.();
    if (fault === undefined) break;
    // An end says more than the silence that follows it.
    const trouble = await changed();
    if (trouble !== undefined) return trouble;
    if (performance.now() - started >= withinMs) return `${fault}, for ${counted(withinMs / 1000, "second")}`;
    await pause(pauseMs);
  }
  const end = performance.now() + staysUpMs;
  for (let leftMs = staysUpMs; leftMs > 0; leftMs = end - performance.now()) {
    await pause(Math.min(leftMs, SAMPLE_INTERVAL_MS));
    const trouble = (await changed()) ?? (await ask?.());
    if (trouble !== undefined) return trouble;
  }
  return undefined;
}

/** Returns the check of a supervisor whose units have no descriptor of their own. @param look samples a unit */
export const unitCheck =
  (
    { staysUpMs, urls }: UnitHealth,
    look: (plugin: string | null, timeoutMs: number, signal?: AbortSignal) => Promise<Sample>,
  ) =>
  (plugin: string | null, timeoutMs: number, signal?: AbortSignal): Promise<string | undefined> => {
    const url = urls?.get(plugin);
    const ask = url && (() => probe(url, signal));
    return settles({ sample: () => look(plugin, timeoutMs, signal), ask, withinMs: timeoutMs, staysUpMs, signal });
  };
