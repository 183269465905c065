import type { Supervisor } from "../../lib/agent/supervisors/supervisor.ts";
import { deploymentError } from "../../lib/contract/errors.ts";

/** Time limit of one look at an application, in milliseconds; `health` of its app.yaml limits the whole check. */
const LOOK_MS = 10_000;

/** Requires that an application which was just started works, by its app.yaml. @throws DeploymentError `unhealthy` */
export async function requireHealthy(supervisor: Supervisor, id: string, signal: AbortSignal): Promise<void> {
  const fault = await supervisor.check(id, LOOK_MS, signal);
  if (fault === undefined) return;
  throw deploymentError("unhealthy", `${id} is not healthy: ${fault}.`, { hint: `See \`sealift app logs ${id}\`.` });
}
