import { resolve } from "node:path";
import { blamesVersion } from "../../contract/blame.ts";
import { EXIT, type ExitCode } from "../../contract/codes.ts";
import { SealiftError } from "../../contract/errors.ts";
import { type TargetName, targetOfName, targetText } from "../../contract/target.ts";
import type { Layout } from "../../releases/layout.ts";
import { previousRelease, rollback } from "../deployment/rollback.ts";
import type { DeployResult } from "../deployment/run.ts";
import type { Source } from "../sources/source.ts";
import { type Decision, HELD, whereNothingRuns } from "./decide.ts";
import type { DeploymentQueue } from "./deployment-queue.ts";
import type { EmitWatch, WatchEvent } from "./events.ts";
import { isoNow } from "./schedule.ts";
import type { WatchTarget } from "./target.ts";
import { titleOf } from "./target-on-disk.ts";

/** Result of one turn, for `--once` and the back-off. */
export interface TurnResult {
  target: string;
  outcome: DeployResult["outcome"] | "current" | "held" | "unpublished";
  version: string | null;
  exitCode: ExitCode;
  error?: SealiftError;
}

/** Decision to hold a version. */
export type Held = Extract<Decision, { do: "hold" }>;

/** Versions of a target at a check; null for none. */
interface CheckedVersions {
  running: string | null;
  latest: string | null;
  /** Latest version of the check before. */
  before: string | null;
}

/** Returns the event of a check that has succeeded. @param projectName as the hub has said it now, if it has */
export async function checkDone(
  target: string,
  layout: Layout,
  source: Source,
  { running, latest, before }: CheckedVersions,
  projectName: string | undefined,
): Promise<WatchEvent> {
  const title = await titleOf(layout, source.target, projectName);
  return {
    ...{ event: "check.done", at: isoNow(), target, running_version: running },
    ...(title !== undefined && { title }),
    latest_version: latest,
    previous_version: (await previousRelease(layout, source))?.version ?? null,
    changed: latest !== before,
  };
}

/** Returns the event that tells why a version is not followed. @param target in events */
export const heldEvent = (target: string, { version, reason, message, rights }: Held): WatchEvent => ({
  ...{ event: "target.held", target, version, reason, message },
  ...(rights !== undefined && { rights }),
});

/** Returns the result of a turn that followed no version. @param name of the target in events */
export function heldTurn(
  name: string,
  { target, statements }: Pick<Source, "target" | "statements">,
  { version, reason, message, runsNothing = false }: Held,
): TurnResult {
  const result = { target: name, outcome: "held" as const, version };
  // A pause is intended; everything else needs attention.
  if (reason === "paused") return { ...result, exitCode: EXIT.done };
  const error = HELD[reason](`${name}: ${message}`, {
    target: textOf(target),
    version,
    runsNothing,
    isByKit: statements !== undefined,
  });
  return { ...result, exitCode: error.exitCode, error };
}

/** Returns the decision to hold a version whose deployment found that it must wait; undefined for other results. */
function holdAfter({ version, error }: DeployResult, awaitsSettings: boolean): Held | undefined {
  if (error === undefined || version === null) return undefined;
  const { message, faults: rights = [] } = error;
  if (error.code === "rights_held") return { do: "hold", version, reason: "rights", message, rights };
  if (error.code === "app_not_allowed") return { do: "hold", version, reason: "application", message };
  if (error.code === "env_missing" && awaitsSettings) return { do: "hold", version, reason: "settings", message };
  return error.code === "policy_refused" ? { do: "hold", version, reason: "policy", message } : undefined;
}

/** Returns the event that ends a deployment or a rollback of a target. @param startedAt by `performance.now()` */
export const doneEvent = (target: string, result: DeployResult, startedAt: number, isRollback = false): WatchEvent => ({
  event: "deploy.done",
  at: isoNow(),
  target,
  ...(isRollback && { rollback: true as const }),
  outcome: result.outcome,
  version: result.version,
  previous_version: result.previous_version,
  duration_ms: Math.round(performance.now() - startedAt),
  code: result.error?.code ?? null,
  message: result.error?.message ?? null,
  report: result.report,
});

/**
 * Returns the result of a turn that has deployed, or gone back.
 *
 * @param hold holds a version that must wait
 */
export function afterTurn(
  { name, options: { awaitsSettings = false } }: WatchTarget,
  target: TargetName,
  hold: (held: Held) => TurnResult,
  result: DeployResult,
): TurnResult {
  const held = holdAfter(result, awaitsSettings);
  if (held !== undefined) return hold(held);
  const { outcome, version, error } = result;
  return {
    ...{ target: name, outcome, version, exitCode: error?.exitCode ?? EXIT.done },
    ...(error !== undefined && { error: withAdvice(error, target, result) }),
  };
}

/** Adds what to do where the first version of a host has failed: it has none to go back to. */
function withAdvice(error: SealiftError, target: TargetName, { version, previous_version }: DeployResult) {
  if (version === null || previous_version !== null || !blamesVersion(error.code)) return error;
  const hint = [error.hint, whereNothingRuns(textOf(target), version)].filter(Boolean).join(" ");
  return new SealiftError(error.kind, error.code, error.message, { ...error, hint, cause: error.cause });
}

const textOf = (target: TargetName): string => targetText(targetOfName(target));

/**
 * Rolls a target back to the release that ran before, in turn with the deployments of its project root. Events report
 * the result.
 *
 * @param isWithdrawn whether the hub took the running version back: then it may be offered again
 * @throws the reason of `signal` when the watch ends first
 */
export async function goBack(
  { name, source, options }: WatchTarget,
  { deployments, emit }: { deployments: DeploymentQueue; emit: EmitWatch },
  signal: AbortSignal,
  isWithdrawn = false,
): Promise<DeployResult> {
  const reporter = source("latest");
  const { kind, slug, trust, connection } = reporter;
  return deployments.alone(resolve(options.projectRoot), async () => {
    signal.throwIfAborted();
    const started = performance.now();
    const kept = { kind, slug, isWithdrawn, reporter, trust, connection };
    const result = await rollback(kept, { ...options, signal }, (event) => emit({ ...event, target: name }));
    emit(doneEvent(name, result, started, true));
    return result;
  });
}
