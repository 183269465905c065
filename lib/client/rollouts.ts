import type { RolloutAction, RolloutChange, RolloutRecord, RolloutRequest } from "../contract/rollouts/records.ts";
import * as rollouts from "../contract/rollouts/routes.ts";
import { ask, type Asking, askPages } from "./ask.ts";
import type { HubConnection } from "./hub-connection.ts";

/** Rollouts of a project, plugin or service (docs/rollouts.md). @throws AuthenticationError, DeploymentError */
export class RolloutsClient {
  readonly id: string;
  readonly #asking: Asking;

  /** @param id of the target at the key service */
  constructor(id: string, hub: HubConnection) {
    this.id = id;
    this.#asking = { operation: "keys", hub };
  }

  /** Starts a rollout of a version. */
  start(request: RolloutRequest): Promise<RolloutRecord> {
    return ask(rollouts.startRollout, { params: { id: this.id }, body: request }, this.#asking);
  }

  /** Rollouts, newest first, page by page. */
  list(): AsyncGenerator<RolloutRecord> {
    return askPages(rollouts.listRollouts, { params: { id: this.id } }, this.#asking);
  }

  show(rollout: string): Promise<RolloutRecord> {
    return ask(rollouts.showRollout, { params: { id: this.id, rollout } }, this.#asking);
  }

  /** Pauses, resumes, approves or aborts a rollout. */
  act(rollout: string, action: RolloutAction, change: RolloutChange): Promise<RolloutRecord> {
    const given = { params: { id: this.id, rollout }, body: change };
    return ask(rollouts.ACTION_ROUTES[action], given, this.#asking);
  }
}
