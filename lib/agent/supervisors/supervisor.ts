import { setTimeout as sleep } from "node:timers/promises";
import { deploymentError } from "../../contract/errors.ts";
import { childEnvironment, describeFailure, type ProgramResult, runProgram } from "../base/child-program.ts";

/**
 * Starts, stops, restarts and checks what an installation runs (docs/contract/install-plan.md). A `plugin` of null is
 * the project's own unit.
 */
export interface Supervisor {
  /**
   * Asks the supervisor itself, not a unit, whether it can work on this host.
   *
   * @returns undefined when it can, else what is wrong
   */
  ready(signal?: AbortSignal): Promise<string | undefined>;
  start(plugin: string | null, signal?: AbortSignal): Promise<void>;
  stop(plugin: string | null, signal?: AbortSignal): Promise<void>;
  restart(plugin: string | null, signal?: AbortSignal): Promise<void>;
  /** Lists the plugins that are stopped on purpose, where the supervisor knows plugins of no plan, too. */
  idle?(signal?: AbortSignal): Promise<string[]>;
  /**
   * One check.
   *
   * @param timeoutMs how long it may take
   * @returns undefined when healthy, else what is wrong
   * @throws DeploymentError `old_release_runs` where the supervisor knows that another release runs
   */
  check(plugin: string | null, timeoutMs: number, signal?: AbortSignal): Promise<string | undefined>;
}

/** Begins a sentence with a cause. */
export const capital = (cause: string): string => cause.charAt(0).toUpperCase() + cause.slice(1);

export type SupervisorName = "none" | "runtime" | "systemd" | "docker" | "kubernetes";

/** Tells whether a plugin of another release is the one that was switched to, file by file. */
export type IsCurrent = (plugin: string, release: string) => Promise<boolean>;

/** The supervisor of a host's plugins, as an operator chose it. */
export interface SupervisorChoice {
  name: SupervisorName;
  /**
   * @param installed the plugins that the project's own unit stands for, where a supervisor knows plugins only
   * @param isCurrent lets a check refuse a plugin that runs from an earlier release
   */
  make?: (installed: readonly string[], isCurrent?: IsCurrent) => Supervisor;
}

/** Milliseconds that a supervisor's program may take to start, stop or restart a unit. */
export const PROGRAM_TIMEOUT_MS = 120_000;
/** Milliseconds that a supervisor may take to say that it is there. */
export const READY_TIMEOUT_MS = 10_000;
/** Milliseconds between the two samples of a health check. */
export const SAMPLE_INTERVAL_MS = 1_000;

/** A unit's name from the template: `<id>` is the plugin; without a plugin it is the project's unit. */
export function unitName(template: string | undefined, plugin: string | null): string {
  if (plugin === null) return template === undefined || template.includes("<id>") ? "sealift-project" : template;
  return (template ?? "sealift-plugin-<id>").replaceAll("<id>", plugin);
}

/** Runs a supervisor's own program. @throws DeploymentError `supervisor_failed` */
export async function supervise(command: readonly [string, ...string[]], signal?: AbortSignal): Promise<ProgramResult> {
  const result = await runProgram({
    command,
    env: childEnvironment(),
    timeoutMs: PROGRAM_TIMEOUT_MS,
    ...(signal && { signal }),
  });
  signal?.throwIfAborted();
  if (result.code !== 0) {
    throw deploymentError(
      "supervisor_failed",
      `\`${command.join(" ")}\` failed: ${describeFailure(result, PROGRAM_TIMEOUT_MS)}.`,
      {
        hint: "Run it by hand to see why.",
      },
    );
  }
  return result;
}

/** Asks a supervisor's program for something within a time-out. */
export const inquire = (
  command: readonly [string, ...string[]],
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<ProgramResult> => runProgram({ command, env: childEnvironment(), timeoutMs, ...(signal && { signal }) });

/**
 * Asks a supervisor's program something that it answers only when the supervisor can work.
 *
 * @returns what is wrong, if anything
 */
export async function answers(
  command: readonly [string, ...string[]],
  signal?: AbortSignal,
): Promise<string | undefined> {
  const result = await inquire(command, READY_TIMEOUT_MS, signal);
  signal?.throwIfAborted();
  return result.code === 0
    ? undefined
    : `\`${command.join(" ")}\` failed: ${describeFailure(result, READY_TIMEOUT_MS)}`;
}

/** One look at a unit. */
export interface Sample {
  /** Why it is not running as it should, if so. */
  fault?: string;
  /** Counts restarts, so that two samples show a crash loop. */
  restarts: number;
}

/**
 * Healthy means running in two samples with no restart in between: a unit in a crash loop looks active most of the
 * time.
 */
export async function twoSamples(sample: () => Promise<Sample>, signal?: AbortSignal): Promise<string | undefined> {
  const first = await sample();
  if (first.fault !== undefined) return first.fault;
  await sleep(SAMPLE_INTERVAL_MS, undefined, signal && { signal });
  const second = await sample();
  if (second.fault !== undefined) return second.fault;
  return second.restarts === first.restarts
    ? undefined
    : `it was restarted ${second.restarts - first.restarts} times within a second`;
}

/** Nobody: plans that need a supervisor are refused before they get here (docs/contract/install-plan.md). */
export function noSupervisor(): Supervisor {
  const refuse = () =>
    Promise.reject(
      deploymentError("needs_supervisor", "There is no supervisor to do this.", {
        hint: "Choose one with --supervisor.",
      }),
    );
  return { ready: () => Promise.resolve(undefined), start: refuse, stop: refuse, restart: refuse, check: refuse };
}
