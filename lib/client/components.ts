import { findComponents as route, type FoundComponents } from "../contract/components/routes.ts";
import { ask } from "./ask.ts";
import type { HubConnection } from "./hub-connection.ts";

/**
 * Finds the versions that contain a component, and the hosts that run them.
 *
 * @param query `NAME`, `NAME@RANGE`, or a package URL with either
 * @throws AuthenticationError, DeploymentError
 */
export const findComponents = (hub: HubConnection, query: string): Promise<FoundComponents> =>
  ask(route, { query: { q: query } }, { operation: "fleet", hub });
