import { setTimeout as sleep } from "node:timers/promises";
import { deploymentError } from "../../contract/errors.ts";
import { counted } from "../../support/counted.ts";
import { isServerError, probe } from "../../support/network/probe.ts";
import { capital, type Sample, SAMPLE_INTERVAL_MS, type Supervisor, type UnitHealth } from "./supervisor.ts";

/** Time between the first two questions for an answer, in milliseconds; it doubles up to that of samples. */
const FIRST_PAUSE_MS = 100;
/** Shortest time limit of an answer, in milliseconds: a look that waits for nothing asks once all the same. */
const LEAST_ANSWER_MS = 1_000;

/** Errors of its own in a row, and the least time over which a program answers them, until it has failed. */
const LAST_ERROR = 3;
const ERRORS_MS = 2_000;

/** Ways to see whether a unit works. */
export interface Looking {
  /** Looks at its process. */
  sample: () => Promise<Sample>;
  /**
   * Asks whether it works, in `limitMs` milliseconds; without it, running is enough.
   *
   * @returns what is wrong, if anything
   */
  ask?: ((limitMs?: number) => Promise<string | undefined>) | undefined;
  /** Whether each question starts a program: then it is asked once more at the end, and not all the time. */
  isCostly?: boolean;
}

/** Looks at a unit once: its process, and then what answers for it. @param limitMs time limit of an answer */
export async function look({ sample, ask }: Looking, limitMs?: number): Promise<Sample> {
  const found = await sample();
  const fault = found.fault ?? (await ask?.(limitMs));
  return fault === undefined ? found : { ...found, fault };
}

export interface Settling extends Looking {
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
 * @throws DeploymentError `supervisor_unavailable` where whoever runs it was started again meanwhile
 */
export async function settles(settling: Settling): Promise<string | undefined> {
  const { ask, isCostly = false, withinMs, staysUpMs, signal } = settling;
  const started = performance.now();
  const sample = async (): Promise<Sample> => {
    const found = await settling.sample();
    if (found.isFirstStart !== true) return found;
    throw deploymentError("supervisor_unavailable", `${capital(found.fault!)} for the first time.`, {
      hint: "Whoever runs it was itself started again in the middle of this check. Try again.",
    });
  };
  const first = await sample();
  if (first.fault !== undefined) return first.fault;
  const pause = (ms: number): Promise<void> => sleep(ms, undefined, signal && { signal });
  const troubleIn = ({ fault, restarts }: Sample): string | undefined => {
    if (restarts === first.restarts) return fault;
    const seconds = Math.max(1, Math.round((performance.now() - started) / 1000));
    return fault ?? `it was restarted ${restarts - first.restarts} times within ${counted(seconds, "second")}`;
  };
  const errors = { count: 0, since: started };
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, SAMPLE_INTERVAL_MS)) {
    // The first answer may take what is left of the time, and each later one as long as the first.
    const leftMs = withinMs - (performance.now() - started);
    const fault = await ask?.(Math.max(Math.ceil(leftMs), LEAST_ANSWER_MS));
    if (fault === undefined) break;
    // An end says more than the silence that follows it.
    const trouble = troubleIn(await sample());
    if (trouble !== undefined) return trouble;
    if (!isServerError(fault)) errors.count = 0;
    else if (errors.count++ === 0) errors.since = performance.now();
    if (errors.count >= LAST_ERROR && performance.now() - errors.since >= ERRORS_MS)
      return `${fault}, ${counted(errors.count, "time")} in a row`;
    if (performance.now() - started >= withinMs) return `${fault}, for ${counted(withinMs / 1000, "second")}`;
    await pause(pauseMs);
  }
  const end = performance.now() + staysUpMs;
  const answerMs = Math.max(withinMs, LEAST_ANSWER_MS);
  for (let leftMs = staysUpMs; leftMs > 0; leftMs = end - performance.now()) {
    await pause(Math.min(leftMs, SAMPLE_INTERVAL_MS));
    const trouble = troubleIn(await look({ sample, ...(!isCostly && { ask }) }, answerMs));
    if (trouble !== undefined) return trouble;
  }
  return isCostly ? troubleIn(await look({ sample, ask }, answerMs)) : undefined;
}

/** Returns the checks of a supervisor whose units have no descriptor of their own. @param sample looks at a process */
export function unitChecks(
  { staysUpMs, urls = new Map() }: UnitHealth,
  sample: (plugin: string | null, timeoutMs: number, signal?: AbortSignal) => Promise<Sample>,
): Pick<Supervisor, "check" | "look" | "asked"> {
  const looking = (plugin: string | null, timeoutMs: number, signal?: AbortSignal): Looking => {
    const url = urls.get(plugin);
    return { sample: () => sample(plugin, timeoutMs, signal), ask: url && ((ms) => probe(url, signal, ms)) };
  };
  return {
    asked: [...urls.keys()],
    look: (plugin, timeoutMs, signal) => look(looking(plugin, timeoutMs, signal)),
    check: (plugin, timeoutMs, signal) =>
      settles({ ...looking(plugin, timeoutMs, signal), withinMs: timeoutMs, staysUpMs, signal }),
  };
}
