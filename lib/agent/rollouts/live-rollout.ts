import type { HubConnection } from "../../client/hub-connection.ts";
import { RolloutsClient } from "../../client/rollouts.ts";
import type { VersionState } from "../../contract/version-states.ts";
import type { TargetAtHub } from "../newest/ask-hub.ts";

/** Finds the rollout that rolls or holds a version. @param id of the version's project */
export async function liveRollout(
  hub: HubConnection,
  id: string,
  { rollout }: VersionState,
): Promise<Pick<TargetAtHub, "rollout">> {
  return rollout === undefined ? {} : { rollout: await new RolloutsClient(id, hub).show(rollout) };
}
