import type { HubConnection } from "../../lib/client/hub-connection.ts";
import type { OlderHosts } from "../../lib/contract/agent-counts.ts";
import type { AgentNeeds } from "../../lib/contract/agent-needs.ts";
import type { Application } from "../../lib/contract/files/application.ts";

/** Version of Sealift that hosts need for a project, with the hosts that have an older one, where the key may know. */
export interface NeededAgent extends AgentNeeds {
  counted: OlderHosts | undefined;
}

/**
 * Finds out which version of Sealift the hosts of a project need, and how many have an older one; undefined where any
 * with applications is enough. It refuses nothing: a hub that does not say it, or not to this key, counts none.
 *
 * @param hub undefined for a publication without one
 */
export async function neededAgent(
  apps: ReadonlyMap<string, Application>,
  projectId: string,
  hub: HubConnection | undefined,
): Promise<NeededAgent | undefined> {
  const { agentNeeds } = await import("../../lib/contract/agent-needs.ts");
  const needs = agentNeeds(apps);
  if (needs === undefined) return undefined;
  if (hub === undefined) return { ...needs, counted: undefined };
  const [{ readCounts }, { olderHosts }] = await Promise.all([
    import("../../lib/client/fleet.ts"),
    import("../../lib/contract/agent-counts.ts"),
  ]);
  const counts = await readCounts({ kind: "project", slug: projectId }, hub).catch(() => undefined);
  return { ...needs, counted: counts && olderHosts(needs.version, counts) };
}

/** Returns the fields of a result about what hosts need, for programs. */
export const neededFields = (needed: NeededAgent | undefined) =>
  needed && {
    needs: {
      ...{ agent: needed.version, keys: needed.keys },
      ...{ hosts: needed.counted?.hosts ?? null, older_hosts: needed.counted?.older ?? null },
    },
  };

/** Most keys that a message names. */
const NAMED = 4;

/** Names the keys of descriptors for which a version is needed. */
export function keysText(keys: readonly string[]): string {
  const more = keys.length > NAMED ? ` and ${keys.length - NAMED} more` : "";
  return `${keys.slice(0, NAMED).join(", ")}${more}`;
}
