import type { Supervisor } from "../../lib/agent/supervisors/supervisor.ts";
import { deploymentError } from "../../lib/contract/errors.ts";

/**
 * Requires that an operator has not stopped an application, nor the one that it is of: it would not be started.
 *
 * @param of the application that it is of, if it is of one
 * @throws DeploymentError `app_stopped`
 */
export async function requireNotStopped(supervisor: Supervisor, id: string, of: string | undefined): Promise<void> {
  if ((await supervisor.passes?.(id)) !== true) return;
  const isBase = of !== undefined && (await supervisor.passes?.(of)) === true;
  const what = isBase ? `${of} is stopped, and ${id}, which is of it, runs with it alone` : `${id} is stopped`;
  throw deploymentError("app_stopped", `${what}.`, { hint: `\`sealift app start ${isBase ? of : id}\` ends that.` });
}

/** Time limit of one look at an application, in milliseconds; `health` of its app.yaml limits the whole check. */
const LOOK_MS = 10_000;

/** Requires that an application which was just started works, by its app.yaml. @throws DeploymentError `unhealthy` */
export async function requireHealthy(supervisor: Supervisor, id: string, signal: AbortSignal): Promise<void> {
  const fault = await supervisor.check(id, LOOK_MS, signal);
  if (fault === undefined) return;
  throw deploymentError("unhealthy", `${id} is not healthy: ${fault}.`, { hint: `See \`sealift app logs ${id}\`.` });
}
