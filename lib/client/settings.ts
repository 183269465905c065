import type { CardUpload, HostSettings, OwnSettings, SettingsUpload } from "../contract/settings/records.ts";
import * as routes from "../contract/settings/routes.ts";
import { ifFound } from "./answers.ts";
import { ask, type Asking, askPages } from "./ask.ts";
import { operationError } from "./http.ts";
import type { HubConnection } from "./hub-connection.ts";

/** Rows of one page: a hub sends fewer where they are large. */
const PAGE_ROWS = 200;
/** Most hosts that a list may have: twice as many as a fleet. */
const MAX_HOSTS = 200_000;

/**
 * Client of the settings of one project's hosts (docs/contract/settings.md), for operators.
 *
 * @throws AuthenticationError, DeploymentError
 */
export class SettingsClient {
  readonly #asking: Asking;
  readonly #id: string;

  /** @param projectId of a project */
  constructor(hub: HubConnection, projectId: string) {
    this.#asking = { operation: "keys", hub };
    this.#id = projectId;
  }

  /** Lists cards, numbers and outcomes of all hosts or of one, page by page. @throws `bad_answer` for too many */
  async *list(host?: string): AsyncGenerator<HostSettings> {
    const query = host === undefined ? { limit: PAGE_ROWS } : { host_id: host };
    let left = host === undefined ? MAX_HOSTS : 1;
    for await (const row of askPages(routes.listSettings, { params: { id: this.#id }, query }, this.#asking)) {
      if (left-- === 0)
        throw operationError(this.#asking.operation, "bad_answer", "the hub's list of hosts has no end.");
      yield row;
    }
  }

  /**
   * Uploads settings of up to 1,000 hosts: all of them or none.
   *
   * @returns the counter of the project from then on
   * @throws DeploymentError `settings_conflict` where one does not follow the number that the hub has
   */
  async upload(documents: SettingsUpload["documents"]): Promise<number> {
    const uploaded = await ask(routes.uploadSettings, { params: { id: this.#id }, body: { documents } }, this.#asking);
    return uploaded.settings_version;
  }

  /** Lets the hub forget the card and the settings of a host. */
  drop(host: string): Promise<void> {
    return ask(routes.dropSettings, { params: { id: this.#id, host } }, this.#asking);
  }
}

/**
 * Client of a host's own card and settings. Its key must speak for the host.
 *
 * @throws AuthenticationError, DeploymentError
 */
export class OwnSettingsClient {
  readonly #asking: Asking;
  readonly #params: { id: string };

  /** @param projectId of the host's project */
  constructor(hub: HubConnection, projectId: string) {
    this.#asking = { operation: "settings", hub };
    this.#params = { id: projectId };
  }

  /** Sends the host's card. @returns false for a hub that knows no cards: hubs before 0.3.0 */
  async sendCard(body: CardUpload): Promise<boolean> {
    const sent = await ifFound(ask(routes.sendCard, { params: this.#params, body }, this.#asking).then(() => true));
    return sent ?? false;
  }

  /** Returns the host's settings, sealed to it; undefined where nobody has made any, also at a hub that knows none. */
  read(): Promise<OwnSettings | undefined> {
    return ifFound(ask(routes.readOwnSettings, { params: this.#params }, this.#asking));
  }

  /** Sends what became of the host's settings, signed by it. @param outcome of `signOutcome` */
  async sendOutcome(outcome: string): Promise<void> {
    await ask(routes.sendOutcome, { params: this.#params, body: { outcome } }, this.#asking);
  }
}
