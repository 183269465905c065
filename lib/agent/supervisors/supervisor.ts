import { deploymentError, type SealiftError } from "../../contract/errors.ts";
import type { Application } from "../../contract/files/application.ts";
import type { Layout } from "../../releases/layout.ts";
import { childEnvironment, describeFailure, type ProgramResult, runProgram } from "../base/child-program.ts";
import type { SystemdScope } from "./systemd-units.ts";

/**
 * Starts, stops, restarts and checks the units of an installation (docs/contract/install-plan.md). A `plugin` of null
 * is the project's own unit.
 */
export interface Supervisor {
  /**
   * Checks whether the supervisor itself, not a unit, works on this host.
   *
   * @returns undefined if it does, otherwise what is wrong
   */
  ready(signal?: AbortSignal): Promise<string | undefined>;
  start(plugin: string | null, signal?: AbortSignal): Promise<void>;
  stop(plugin: string | null, signal?: AbortSignal): Promise<void>;
  restart(plugin: string | null, signal?: AbortSignal): Promise<void>;
  /** Restarts a unit; where the supervisor can, one that does not start is tried again. Default: `restart`. */
  recover?(plugin: string | null, signal?: AbortSignal): Promise<void>;
  /** Tells whether an operator keeps a unit stopped: it is neither started nor asked. */
  passes?(plugin: string | null): Promise<boolean>;
  /** Looks at what the host has for an application that does not run yet. @param app its descriptor to be */
  prospect?(id: string, signal?: AbortSignal, app?: Application): Promise<Prospect>;
  /** Lists the plugins that are stopped on purpose, where the supervisor knows plugins beyond any plan. */
  idle?(signal?: AbortSignal): Promise<string[]>;
  /**
   * Checks a unit once.
   *
   * @param timeoutMs time limit of the check
   * @returns undefined when healthy, otherwise what is wrong
   * @throws DeploymentError `old_release_runs` where the supervisor knows that another release runs
   */
  check(plugin: string | null, timeoutMs: number, signal?: AbortSignal): Promise<string | undefined>;
  /** Looks at a unit once, by the rule of `check`: at its process, and then at what answers for it. */
  look?(plugin: string | null, timeoutMs: number, signal?: AbortSignal): Promise<Sample>;
  /** Units, other than applications, whose health an operator wants asked after a deployment, too. */
  asked?: readonly (string | null)[];
}

/** State of a host before the first start of an application. */
export interface Prospect {
  /** Why it cannot be started, if nothing of its version is to blame: its unit is missing. */
  lacks?: string;
  /** Whether its sockets are open already, for it to take over. */
  isOpen: boolean;
}

/** Capitalizes a cause, to begin a sentence. */
export const capital = (cause: string): string => cause.charAt(0).toUpperCase() + cause.slice(1);

export type SupervisorName = "none" | "runtime" | "systemd" | "docker";

/** Tells whether a running plugin of another release equals, file by file, the one that was switched to. */
export type IsCurrent = (plugin: string, release: string) => Promise<boolean>;

/** Supervisor of a host's plugins, as an operator chose it. */
export interface SupervisorChoice {
  name: SupervisorName;
  /**
   * @param installed plugins that the project's own unit stands for, where a supervisor knows plugins only
   * @param isCurrent lets a check fail a plugin that runs from an earlier release
   */
  make?: (installed: readonly string[], isCurrent?: IsCurrent) => Supervisor;
  /** Scope of systemd in which the units of a root's applications are, where systemd runs them. Default: `system`. */
  systemdScope?: SystemdScope;
  /** Makes the supervisor of a root's applications. Default: the one that its `applications.yaml` names. */
  applications?: (layout: Layout) => Promise<Supervisor>;
}

/** Health of units that are not applications, as an operator wants it checked. */
export interface UnitHealth {
  /** Time for which a unit must go on without a restart, in milliseconds. */
  staysUpMs: number;
  /** URL of this host that answers when a unit works, by plugin; null for the project's own unit. */
  urls?: ReadonlyMap<string | null, URL> | undefined;
}

/** Time limit of a supervisor's program to start, stop or restart a unit, in milliseconds. */
export const PROGRAM_TIMEOUT_MS = 120_000;
/** Time limit of a supervisor to report that it works, in milliseconds. */
export const READY_TIMEOUT_MS = 10_000;
/** Longest pause between two samples of a health check, in milliseconds. */
export const SAMPLE_INTERVAL_MS = 1_000;

/** Returns a unit's name from the template: `<id>` is the plugin; without a plugin it is the project's unit. */
export function unitName(template: string | undefined, plugin: string | null): string {
  if (plugin === null) return template === undefined || template.includes("<id>") ? "sealift-project" : template;
  return (template ?? "sealift-plugin-<id>").replaceAll("<id>", plugin);
}

/** Runs a supervisor's own program. @throws DeploymentError `supervisor_failed` */
export async function supervise(
  command: readonly [string, ...string[]],
  signal?: AbortSignal,
  timeoutMs = PROGRAM_TIMEOUT_MS,
): Promise<void> {
  const { error } = await tryToSupervise(command, signal, timeoutMs);
  if (error !== undefined) throw error;
}

/** Runs a supervisor's own program. @returns its failure, if any, and whether its time was up */
export async function tryToSupervise(
  command: readonly [string, ...string[]],
  signal?: AbortSignal,
  timeoutMs = PROGRAM_TIMEOUT_MS,
): Promise<{ error?: SealiftError; timedOut?: boolean }> {
  const result = await runProgram({ command, env: childEnvironment(), timeoutMs, ...(signal && { signal }) });
  signal?.throwIfAborted();
  if (result.code === 0) return {};
  const message = `\`${command.join(" ")}\` failed: ${describeFailure(result, timeoutMs)}.`;
  const error = deploymentError("supervisor_failed", message, { hint: "Run it by hand to see why." });
  return { error, timedOut: result.timedOut };
}

/** Runs a query of a supervisor's program, with a time limit. Its times are in UTC. */
export const inquire = (
  command: readonly [string, ...string[]],
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<ProgramResult> =>
  runProgram({ command, env: childEnvironment({ TZ: "UTC" }), timeoutMs, ...(signal && { signal }) });

/**
 * Runs a query of a supervisor's program that succeeds only while the supervisor works.
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

/** Sample of a unit's state. */
export interface Sample {
  /** Reason why it does not run as it should, if any. */
  fault?: string;
  /** Number of restarts, by which samples reveal a crash loop. */
  restarts: number;
  /** Whether whoever runs it starts it for the first time: that one was itself started again meanwhile. */
  isFirstStart?: boolean;
}

/**
 * Returns a supervisor for plans without units: plans that need one are rejected earlier
 * (docs/contract/install-plan.md).
 */
export function noSupervisor(): Supervisor {
  const refuse = () =>
    Promise.reject(
      deploymentError("needs_supervisor", "There is no supervisor to do this.", {
        hint: "Choose one with --supervisor.",
      }),
    );
  return { ready: () => Promise.resolve(undefined), start: refuse, stop: refuse, restart: refuse, check: refuse };
}
