import type {
  InviteRecord,
  InviteRequest,
  JoinAnswer,
  JoinedHost,
  JoinRequest,
  NewInvite,
} from "../contract/joining/records.ts";
import * as routes from "../contract/joining/routes.ts";
import { ask, type Asking, askPages, requestOf } from "./ask.ts";
import type { Transport } from "./http.ts";
import type { HubConnection } from "./hub-connection.ts";
import { call } from "./json-request.ts";

/**
 * Joins a project; repeating the call tells whether the host has been approved.
 *
 * @throws AuthenticationError `key_rejected`, `invite_ended`; DeploymentError `host_taken`, and errors of the
 *   connection
 */
export function join(hubUrl: string, body: JoinRequest, transport: Transport): Promise<JoinAnswer> {
  const asking: Asking = { operation: "keys", hub: { ...transport, hubUrl, apiKey: "" } };
  const request = { ...requestOf(routes.join, { body }, asking), credentials: {} };
  return call(request, routes.join.ok[200], transport);
}

/** Client of invites and hosts of one project (docs/contract/joining.md). */
export class JoiningClient {
  readonly #asking: Asking;
  readonly #id: string;

  /** @param projectId of a project */
  constructor(hub: HubConnection, projectId: string) {
    this.#asking = { operation: "keys", hub };
    this.#id = projectId;
  }

  /** Makes an invite. Its token is shown this once. */
  invite(body: InviteRequest): Promise<NewInvite> {
    return ask(routes.createInvite, { params: { id: this.#id }, body }, this.#asking);
  }

  /** Lists invites without their tokens, newest first, page by page. */
  invites(): AsyncGenerator<InviteRecord> {
    return askPages(routes.listInvites, { params: { id: this.#id } }, this.#asking);
  }

  revokeInvite(invite: string): Promise<void> {
    return ask(routes.revokeInvite, { params: { id: this.#id, invite } }, this.#asking);
  }

  /** Lists hosts with keys of their own, and those that wait, page by page. */
  hosts(): AsyncGenerator<JoinedHost> {
    return askPages(routes.listJoined, { params: { id: this.#id } }, this.#asking);
  }

  /** Lists hosts of one name, or that came with one invite. A hub of 0.2.0 lists all of them. */
  async hostsWith(only: { host_id: string } | { invite_id: string }): Promise<JoinedHost[]> {
    const found: JoinedHost[] = [];
    const isWanted = (host: JoinedHost): boolean =>
      "host_id" in only ? host.host_id === only.host_id : host.invite_id === only.invite_id;
    const all = askPages(routes.listJoined, { params: { id: this.#id }, query: only }, this.#asking);
    for await (const host of all) if (isWanted(host)) found.push(host);
    return found;
  }

  approve(host: string): Promise<void> {
    return ask(routes.approveHost, { params: { id: this.#id, host } }, this.#asking);
  }

  rename(host: string, to: string): Promise<void> {
    return ask(routes.renameHost, { params: { id: this.#id, host }, body: { host_id: to } }, this.#asking);
  }

  remove(host: string): Promise<void> {
    return ask(routes.removeHost, { params: { id: this.#id, host } }, this.#asking);
  }
}
