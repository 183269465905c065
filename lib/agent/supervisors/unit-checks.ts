import { setTimeout as sleep } from "node:timers/promises";
import { checkFault, FIRST_ANSWER_MS, isAskedAgain } from "../../contract/files/health-command.ts";
import { describeFailure } from "../base/child-program.ts";
import { inquire, PROGRAM_TIMEOUT_MS, READY_TIMEOUT_MS } from "./supervisor.ts";
import { askUnits, systemctl, type SystemdScope } from "./systemd-units.ts";
import { ENDING_PROPERTIES, unitFault } from "./unit-ending.ts";

/** Time between two looks at a command that runs, in milliseconds. */
const PAUSE_MS = 200;

/** Returns the unit that runs the health command of an application. @param instance of its units */
export const checkUnit = (instance: string): string => `sealift-check@${instance}.service`;

/**
 * Asks by a unit of its own whether an application works. An answer counts for the process that runs now.
 *
 * @param seconds time limit of the command
 * @param isFresh waits for an answer of now; otherwise one of the last minute will do
 * @returns why not; undefined where it works, or has not answered yet
 */
export async function askByUnit(
  scope: SystemdScope,
  instance: string,
  { seconds, isFresh }: { seconds: number; isFresh: boolean },
  signal?: AbortSignal,
): Promise<string | undefined> {
  const unit = checkUnit(instance);
  const before = await lookAt(scope, instance, seconds, signal);
  if (before.lacks !== undefined) return before.lacks;
  if (!isFresh) {
    const { answer } = before;
    if (answer !== undefined && !before.isRunning && !isAskedAgain(answer.fault, answer.ageMs))
      return worded(answer.fault);
    if (!before.isRunning) await inquire(systemctl(scope, "start", "--no-block", unit), READY_TIMEOUT_MS, signal);
    if (answer !== undefined) return worded(answer.fault);
    const end = performance.now() + FIRST_ANSWER_MS;
    for (;;) {
      const { answer: first } = await lookAt(scope, instance, seconds, signal);
      if (first !== undefined || performance.now() >= end) return worded(first?.fault ?? null);
      await sleep(PAUSE_MS, undefined, signal && { signal });
    }
  }
  // It may have been started for a process that has ended meanwhile.
  if (before.isRunning) await inquire(systemctl(scope, "stop", unit), PROGRAM_TIMEOUT_MS, signal);
  const limitMs = seconds * 1000 + PROGRAM_TIMEOUT_MS;
  const started = await inquire(systemctl(scope, "start", unit), limitMs, signal);
  signal?.throwIfAborted();
  const { answer, run } = await lookAt(scope, instance, seconds, signal);
  if (run === before.run)
    return checkFault(
      started.code === 0
        ? "its unit has not started it"
        : `its unit cannot start: ${describeFailure(started, limitMs)}`,
    );
  return worded(answer?.fault ?? null);
}

const worded = (fault: string | null): string | undefined => (fault === null ? undefined : checkFault(fault));

interface CheckLook {
  /** Unit that the host has not; then nothing else counts. */
  lacks?: string | undefined;
  isRunning: boolean;
  /** Name of the last run. */
  run: string;
  /** Last answer of the process that runs now, and its age in milliseconds. */
  answer?: { fault: string | null; ageMs: number } | undefined;
}

async function lookAt(
  scope: SystemdScope,
  instance: string,
  seconds: number,
  signal: AbortSignal | undefined,
): Promise<CheckLook> {
  const units = [checkUnit(instance), `sealift-app@${instance}.service`];
  const more = [...ENDING_PROPERTIES, "ActiveEnterTimestampMonotonic"];
  const [check = {}, service = {}] = await askUnits(scope, units, READY_TIMEOUT_MS, signal, more);
  const { LoadState, ActiveState = "unknown", InvocationID: run = "" } = check;
  if (LoadState !== "loaded")
    return { lacks: `the unit ${units[0]} is ${LoadState ?? "missing"}`, isRunning: false, run };
  const isRunning = ["activating", "active", "deactivating"].includes(ActiveState);
  // Both clocks are the kernel's monotonic one, in microseconds.
  const [endedUs, sinceUs] = [check.ExecMainExitTimestampMonotonic, service.ActiveEnterTimestampMonotonic].map(Number);
  const hasAnswered = !isRunning && run !== "" && (endedUs || 0) > (sinceUs || 0);
  if (!hasAnswered) return { isRunning, run };
  const ageMs = Number(process.hrtime.bigint() / 1_000_000n) - endedUs! / 1000;
  return { isRunning, run, answer: { fault: unitFault(check, seconds), ageMs } };
}
