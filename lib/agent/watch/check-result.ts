import { resolve } from "node:path";
import { EXIT, type ExitCode } from "../../contract/codes.ts";
import type { SealiftError } from "../../contract/errors.ts";
import { type TargetName, targetOfName, targetText } from "../../contract/target.ts";
import { rollback } from "../deployment/rollback.ts";
import type { DeployResult } from "../deployment/run.ts";
import { type Decision, HELD } from "./decide.ts";
import type { DeploymentQueue } from "./deployment-queue.ts";
import type { EmitWatch, HoldReason, WatchEvent } from "./events.ts";
import type { WatchTarget } from "./target.ts";

/** Returns the time of an event. */
export const isoNow = (): string => new Date().toISOString();

/** Result of one turn, for `--once` and the back-off. */
export interface TurnResult {
  target: string;
  outcome: DeployResult["outcome"] | "current" | "held" | "unpublished";
  version: string | null;
  exitCode: ExitCode;
  error?: SealiftError;
}

/** Returns the result of a turn that followed no version. @param name of the target in events */
export function heldTurn(
  name: string,
  target: TargetName,
  { version, reason, message }: { version: string; reason: HoldReason; message: string },
): TurnResult {
  const result = { target: name, outcome: "held" as const, version };
  // A pause is intended; everything else needs attention.
  if (reason === "paused") return { ...result, exitCode: EXIT.done };
  const error = HELD[reason](`${name}: ${message}`, { target: targetText(targetOfName(target)), version });
  return { ...result, exitCode: error.exitCode, error };
}

/** Returns the decision to hold a version whose deployment found that it must wait; undefined for other results. */
function holdAfter({ version, error }: DeployResult): Extract<Decision, { do: "hold" }> | undefined {
  if (error === undefined || version === null) return undefined;
  const { message, faults: rights = [] } = error;
  if (error.code === "rights_held") return { do: "hold", version, reason: "rights", message, rights };
  if (error.code === "app_not_allowed") return { do: "hold", version, reason: "application", message };
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

/** Returns the result of a turn that has deployed, or gone back. @param hold holds a version that must wait */
export function afterTurn(
  target: string,
  hold: (held: Extract<Decision, { do: "hold" }>) => TurnResult,
  result: DeployResult,
): TurnResult {
  const held = holdAfter(result);
  if (held !== undefined) return hold(held);
  const { outcome, version, error } = result;
  const ended = { target, outcome, version, exitCode: error?.exitCode ?? EXIT.done };
  return error === undefined ? ended : { ...ended, error };
}

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
