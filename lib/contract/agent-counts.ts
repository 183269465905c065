import { isAgentOlder } from "./agent-version.ts";
import type { FleetCounts } from "./surfaces/reports.ts";

/** Hosts of a fleet whose agents are known, and how many of them are older than a version needs. */
export interface OlderHosts {
  hosts: number;
  older: number;
  /** Versions of the older ones, most hosts first. */
  agents: string[];
}

/** Counts the hosts whose agent is older than a version needs; undefined where no host says which it has. */
export function olderHosts(needed: string, { agents = [] }: Pick<FleetCounts, "agents">): OlderHosts | undefined {
  if (agents.length === 0) return undefined;
  const old = agents.filter(({ agent }) => isAgentOlder(agent, needed));
  const sum = (of: typeof agents): number => of.reduce((all, { hosts }) => all + hosts, 0);
  return { hosts: sum(agents), older: sum(old), agents: old.map(({ agent }) => agent) };
}

/** Describes what a version needs: `needs Sealift 0.3.0: 4 of 12 hosts run one before 0.3.0`. */
export function needsText(needed: string, counted: OlderHosts | undefined): string {
  const needs = `needs Sealift ${needed}`;
  if (counted === undefined || counted.older === 0) return needs;
  const { hosts, older, agents } = counted;
  const run = `${hosts === 1 ? "host" : "hosts"} ${older === 1 ? "runs" : "run"}`;
  return `${needs}: ${older} of ${hosts} ${run} one ${agents.map(agentText).join(", ")}`;
}

const agentText = (agent: string): string => (agent.startsWith("before ") ? agent : `of ${agent}`);
