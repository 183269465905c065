import { setTimeout as sleep } from "node:timers/promises";
import { deploymentError, isAbort, SealiftError } from "../../contract/errors.ts";
import type { InstallStep, Notifiers } from "../../contract/files/install-plan.ts";
import type { StepOutcome } from "../../contract/surfaces/reports.ts";
import type { Journal } from "../../releases/journal.ts";
import { counted } from "../../support/counted.ts";
import { traced } from "../../support/work.ts";
import { childEnvironment, describeFailure, runProgram } from "../base/child-program.ts";
import type { Emit } from "../base/events.ts";
import { capital, type Supervisor } from "../supervisors/supervisor.ts";

/** Delay before the second attempt of a healthcheck, in milliseconds; each further one waits longer. */
const RETRY_DELAY_MS = 1_000;

/** End of a step: one of a unit that an operator has stopped does nothing. */
export type Ran = void | "stopped";

/** Context of steps around the switch. */
export interface StepContext {
  /** Journal in which units are recorded before they are touched. */
  journal: Pick<Journal, "touch">;
  supervisor: Supervisor;
  notifiers: Notifiers;
  emit: Emit;
  signal: AbortSignal;
}

/**
 * Runs steps in order until one fails. Emits events before and after each.
 *
 * @param run carries out one step
 * @throws the error of the step
 */
export async function runSteps<C extends StepContext>(
  steps: readonly InstallStep[],
  context: C,
  run: (step: InstallStep, context: C) => Promise<Ran> = runStep,
): Promise<void> {
  for (const step of steps) {
    context.signal.throwIfAborted();
    await tellStep(step, context.emit, () => run(step, context));
  }
}

/** Does the work of a step, and emits events before and after. @throws the error of the work */
async function tellStep(step: InstallStep, emit: Emit, work: () => Promise<Ran>): Promise<void> {
  emit({ event: "step.started", id: step.id, action: step.action, plugin: pluginOf(step) });
  const started = performance.now();
  const finish = (status: StepOutcome["status"], message: string | null): void => {
    const outcome = {
      id: step.id,
      action: step.action,
      status,
      duration_ms: Math.round(performance.now() - started),
      error_message: message,
    };
    emit({ event: "step.done", outcome });
  };
  const facts = { "sealift.step": step.id, "sealift.plugin": pluginOf(step) ?? undefined };
  try {
    const ran = await traced(`step ${step.action}`, facts, work);
    if (ran === "stopped") finish("skipped", "an operator has stopped it");
    else finish("done", null);
  } catch (error) {
    finish("failed", error instanceof Error ? error.message : String(error));
    throw error;
  }
}

/** Returns the plugin or extension that a step names, or null. */
export const pluginOf = (step: InstallStep): string | null =>
  ("plugin" in step ? step.plugin : undefined) ?? ("extension" in step ? step.extension : undefined) ?? null;

/** Runs one step around the switch. Other steps only mark progress, or were done before. */
export async function runStep(step: InstallStep, context: StepContext): Promise<Ran> {
  const { supervisor, signal } = context;
  const starts = step.action === "start" || step.action === "restart" || step.action === "healthcheck";
  if (starts && (await supervisor.passes?.(step.plugin ?? null)) === true) return "stopped";
  switch (step.action) {
    case "start":
    case "stop":
    case "restart":
      await context.journal.touch(step.plugin ?? null);
      return supervisor[step.action](step.plugin ?? null, signal);
    case "healthcheck":
      return healthcheck(step, context);
    case "notify":
      return notify(step.event, step.message ?? "", context);
    default:
      return;
  }
}

/** Checks a unit until it is healthy or has used up its attempts. @throws DeploymentError `unhealthy` */
async function healthcheck(
  step: Extract<InstallStep, { action: "healthcheck" }>,
  { supervisor, emit, signal }: StepContext,
): Promise<void> {
  const plugin = step.plugin ?? null;
  for (let attempt = 0; ; attempt++) {
    const fault = await supervisor.check(plugin, step.timeout * 1000, signal);
    signal.throwIfAborted();
    if (fault === undefined) return;
    emit({ event: "output", source: `healthcheck ${plugin ?? "project"}`, line: fault });
    if (attempt >= step.retries) {
      const tried = `healthcheck of ${plugin ?? "the project"}, ${counted(attempt + 1, "attempt")}`;
      throw deploymentError("unhealthy", `${capital(fault)} (${tried}).`);
    }
    await sleep(RETRY_DELAY_MS * Math.min(attempt + 1, 10), undefined, { signal });
  }
}

/** Sends a notification. Never fails a deployment (docs/contract/install-plan.md). */
async function notify(event: string, message: string, context: StepContext): Promise<void> {
  const entry = context.notifiers[event];
  if (entry === undefined) {
    context.emit({
      event: "warning",
      message: `Nobody is notified of ${event}: --notifiers-config has no entry for it.`,
    });
    return;
  }
  try {
    const timeoutMs = entry.timeout * 1000;
    const result = await runProgram({
      command: entry.command as [string, ...string[]],
      env: childEnvironment({ ...entry.env, NOTIFY_EVENT: event, NOTIFY_MESSAGE: message }),
      timeoutMs,
      signal: context.signal,
    });
    if (result.code !== 0)
      context.emit({
        event: "warning",
        message: `The notifier of ${event} failed: ${describeFailure(result, timeoutMs)}.`,
      });
  } catch (error) {
    if (isAbort(error) || error instanceof SealiftError) throw error;
    context.emit({ event: "warning", message: `The notifier of ${event} failed: ${(error as Error).message}.` });
  }
}
