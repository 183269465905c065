import { deploymentError, type SealiftError } from "../../contract/errors.ts";
import { saysOfTheRelease } from "../../releases/quarantine.ts";
import type { Deployed, Run } from "./run.ts";

/** Asks the chosen supervisor whether it can work. @returns the error that tells why it cannot */
async function trouble({ options, signal }: Run<Deployed>, cause?: SealiftError): Promise<SealiftError | undefined> {
  const { name, make } = options.supervisor;
  const why = await make?.([]).ready(cause === undefined ? signal : undefined);
  if (why === undefined) return undefined;
  return deploymentError("supervisor_unavailable", `The supervisor ${name} cannot work: ${why}.`, {
    ...(cause !== undefined && { cause }),
    hint: "The release is not to blame. Start the supervisor, or choose another --supervisor; `sealift doctor` asks it, too.",
  });
}

/**
 * Refuses a deployment before anything is fetched when its supervisor cannot work.
 *
 * @throws DeploymentError `supervisor_unavailable`
 */
export async function checkSupervisor(run: Run<Deployed>): Promise<void> {
  const error = await trouble(run);
  if (error !== undefined) throw error;
}

/** Returns the error to blame for a failed step: that of the host when its supervisor has stopped working meanwhile. */
export async function blamed(run: Run, error: SealiftError): Promise<SealiftError> {
  return saysOfTheRelease(error) ? ((await trouble(run, error)) ?? error) : error;
}
