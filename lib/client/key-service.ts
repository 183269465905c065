import { labelHost, serveHost } from "../contract/fleets/routes.ts";
import * as keys from "../contract/keys/routes.ts";
import { addGrant, listGrants, removeGrant } from "../contract/marketplace/routes.ts";
import * as projects from "../contract/projects/routes.ts";
import * as signers from "../contract/signers/routes.ts";
import * as versions from "../contract/versions/routes.ts";
import { type Calls, callsOf } from "./calls.ts";
import type { HubConnection } from "./hub-connection.ts";

const ROUTES = {
  ...{ ...keys, ...projects, ...versions, ...signers },
  ...{ labelHost, serveHost, listGrants, addGrant, removeGrant },
};

/**
 * Key service of a hub: its keys, projects, versions, signers and grants (docs/contract/keys.md).
 *
 * @throws from each call as {@link callsOf}
 */
export type KeyService = Calls<typeof ROUTES>;

/** Returns the key service of a hub. */
export const keyService = (hub: HubConnection): KeyService => callsOf(ROUTES, hub);
