import { constants } from "node:os";
import { endingOf } from "../../releases/jobs.ts";

/** Properties by which a run of a unit is told from the one before it, and how it ended. */
export const ENDING_PROPERTIES = [
  ...["InvocationID", "ExecMainCode", "ExecMainStatus", "ConditionResult"],
  ...["ExecMainStartTimestampMonotonic", "ExecMainExitTimestampMonotonic"],
] as const;

/** Reason of a unit whose condition has said no. */
export const NOT_TO_START = "it may not start: applications.yaml does not grant it, or says otherwise";

/** Returns why a unit failed, in words; null where it went well. @param within its time limit, in seconds */
export function unitFault(
  found: Partial<Record<(typeof ENDING_PROPERTIES)[number] | "Result", string>>,
  within: number,
): string | null {
  const { Result: result = "success" } = found;
  if (result === "success") return null;
  if (result === "exec-condition") return NOT_TO_START;
  const { ExecMainStatus = "0", ExecMainStartTimestampMonotonic: from = "0" } = found;
  const durationMs = (Number(found.ExecMainExitTimestampMonotonic ?? "0") - Number(from)) / 1000;
  const status = Number(ExecMainStatus);
  if (result === "exit-code")
    return endingOf({ code: status, durationMs }, within, `it ended with exit code ${status}`);
  const [name] = Object.entries(constants.signals).find(([, number]) => number === status) ?? [];
  if (result === "signal")
    return endingOf({ code: 128 + status, durationMs }, within, `it was ended by ${name ?? status}`);
  return `systemd says ${result}`;
}
