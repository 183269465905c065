import { ask } from "../../client/ask.ts";
import type { HubConnection } from "../../client/hub-connection.ts";
import { showRollout } from "../../contract/rollouts/routes.ts";
import type { VersionState } from "../../contract/version-states.ts";
import type { TargetAtHub } from "../newest/ask-hub.ts";

/** Finds the rollout that rolls or holds a version. @param id of the version's project */
export async function liveRollout(
  hub: HubConnection,
  id: string,
  { rollout }: VersionState,
): Promise<Pick<TargetAtHub, "rollout">> {
  if (rollout === undefined) return {};
  return { rollout: await ask(showRollout, { params: { id, rollout } }, { operation: "keys", hub }) };
}
