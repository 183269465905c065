/** A watched host of a rollout: the hub is real, what is deployed is given, and one version fails where it is bad. */
import { DEPLOY_DEFAULTS } from "../../../lib/agent/deployment/run.ts";
import { projectPoll, type WatchTarget } from "../../../lib/agent/watch/target.ts";
import { DeployClient } from "../../../lib/client/deploy-client.ts";
import { artifactError } from "../../../lib/contract/errors.ts";
import { INSTALL, sourceOf } from "./given-source.ts";

interface RolloutHost {
  name: string;
  projectRoot: string;
  labels: Record<string, string>;
  /** The version whose steps fail on this host. */
  bad: string | undefined;
  intervalMs: number;
  /** Whether it listens to its hub's hints. */
  hints?: boolean;
}

/** Returns the target of a host that follows a project. */
export function rolloutHost(
  hub: { url: string; projectId: string; apiKey: string },
  { name, projectRoot, labels, bad, intervalMs, hints = false }: RolloutHost,
): WatchTarget {
  const { url: hubUrl, projectId, apiKey } = hub;
  const connection = { hubUrl, apiKey, timeoutMs: 20_000, hostId: name, labels };
  const client = new DeployClient(projectId, connection);
  return {
    ...{ name, hub: hubUrl, intervalMs, poll: projectPoll(projectId, connection) },
    hints: hints ? { target: `project:${projectId}`, connection } : undefined,
    source: (version) =>
      sourceOf(version, INSTALL, {
        ...{ slug: projectId, requestedVersion: version },
        ...(version === bad && {
          fetch: () => Promise.reject(artifactError("plan_invalid", `A step of ${version} fails here.`)),
        }),
        report: (report) =>
          client.report({
            ...{ project_id: projectId, deployment_id: report.deployment_id, host_id: name, labels, plugins: [] },
            status: report.status === "success" ? "success" : "failed",
            version: report.resolved_version ?? report.requested_version,
            ...{ started_at: report.started_at, completed_at: report.completed_at },
            ...{ error_message: report.error_message, running_version: report.running_version },
            rolled_back: report.status === "rolled_back",
          }),
      }),
    options: { ...DEPLOY_DEFAULTS, projectRoot, hostId: name, supervisor: { name: "none" }, durability: "none" },
  };
}
