import { deploymentError, type SealiftError } from "../../contract/errors.ts";
import { childEnvironment, describeFailure, runProgram } from "../base/child-program.ts";
import { PROGRAM_TIMEOUT_MS } from "../supervisors/supervisor.ts";

/**
 * Exit codes of `systemd-tmpfiles` that its own unit counts as success: a line was malformed, or a folder could not be
 * made. That line may be another package's.
 */
const PARTIAL: ReadonlySet<number | null> = new Set([65, 73]);

/**
 * Runs the commands that make units count, in order. One that fails ends nothing: the others may do, and what they have
 * done need not be done again.
 *
 * @param warn hears of what was done in part
 * @throws DeploymentError `supervisor_failed` with every command that failed, once all have run
 */
export async function activate(
  steps: readonly string[],
  { warn, signal }: { warn: (message: string) => void; signal?: AbortSignal | undefined },
): Promise<void> {
  const faults: string[] = [];
  for (const step of steps) {
    const command = step.split(" ") as [string, ...string[]];
    const result = await runProgram({
      ...{ command, env: childEnvironment(), timeoutMs: PROGRAM_TIMEOUT_MS },
      ...(signal && { signal }),
    });
    signal?.throwIfAborted();
    if (result.code === 0) continue;
    const fault = `\`${step}\` failed: ${describeFailure(result, PROGRAM_TIMEOUT_MS)}`;
    if (command[0] === "systemd-tmpfiles" && PARTIAL.has(result.code)) warn(`${fault}. systemd counts that as done.`);
    else faults.push(fault);
  }
  if (faults.length > 0) throw failed(faults);
}

const failed = (faults: string[]): SealiftError =>
  deploymentError("supervisor_failed", `${faults.join("; ")}.`, {
    faults,
    hint: "The other steps were done. Run these by hand to see why.",
  });
