import type { JoinAnswer, JoinedHost, JoinRequest } from "../contract/joining/records.ts";
import * as routes from "../contract/joining/routes.ts";
import { type Asking, requestOf } from "./ask.ts";
import { type Calls, callsOf } from "./calls.ts";
import type { Transport } from "./http.ts";
import type { HubConnection } from "./hub-connection.ts";
import { call } from "./json-request.ts";

/** Invites and hosts of one project (docs/contract/joining.md). */
export type ProjectHosts = Calls<typeof routes, "id">;

/** Returns the calls about invites and hosts of a project. @param id of the project */
export const projectHosts = (hub: HubConnection, id: string): ProjectHosts => callsOf(routes, hub, { id });

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

/** Lists hosts of one name, or that came with one invite. A hub of 0.2.0 lists all of them. */
export async function hostsWith(
  { listJoined }: Pick<ProjectHosts, "listJoined">,
  only: { host_id: string } | { invite_id: string },
): Promise<JoinedHost[]> {
  const found: JoinedHost[] = [];
  const isWanted = (host: JoinedHost): boolean =>
    "host_id" in only ? host.host_id === only.host_id : host.invite_id === only.invite_id;
  for await (const host of listJoined({ query: only })) if (isWanted(host)) found.push(host);
  return found;
}
