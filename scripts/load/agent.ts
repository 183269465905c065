import { createHash, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { DeployClient } from "../../lib/client/deploy-client.ts";
import type { HubConnection } from "../../lib/client/hub-connection.ts";
import { isAbort, SealiftError } from "../../lib/contract/errors.ts";

/** Orders shared by all agents of a run. */
export interface Orders {
  projectId: string;
  credential: string;
  connection: HubConnection;
  /** Interval of polls, in milliseconds. */
  intervalMs: number;
  /** Time over which the agents of the fleet start, and over which they take a new version, in milliseconds. */
  rampMs: number;
}

export interface AgentOptions extends Orders {
  /** Called for every successful poll, with the number of its agent. */
  onPolled: (index: number) => void;
  /** Called for every deployment that an agent has reported. */
  onDeployed: (version: string) => void;
  /** Called for every error. */
  onError: (code: string) => void;
}

const MAX_BYTES = 64 * 1024 * 1024;

/** Follows the latest version as `sealift watch` does, with its own client, until the signal is aborted. */
export async function runAgent(options: AgentOptions, index: number, signal: AbortSignal): Promise<void> {
  const { projectId, connection, intervalMs, rampMs, onPolled, onError } = options;
  const client = new DeployClient(projectId, { ...connection, signal });
  let etag: string | undefined;
  try {
    await sleep(rampMs * Math.random(), undefined, { signal });
    while (!signal.aborted) {
      try {
        const latest = await client.latestIfChanged(etag);
        if (latest.changed) {
          // Like hosts that an operator updates in stages.
          const stagesMs = etag === undefined ? 0 : Math.max(rampMs - intervalMs, 0);
          if (stagesMs > 0) await sleep(stagesMs * Math.random(), undefined, { signal });
          await deploy(options, client, { version: latest.value.version, hostId: `load-${index}` });
          etag = latest.etag;
        }
        onPolled(index);
      } catch (error) {
        if (isAbort(error) || signal.aborted) return;
        onError(error instanceof SealiftError ? error.code : String(error));
      }
      await sleep(intervalMs * (0.9 + 0.2 * Math.random()), undefined, { signal });
    }
  } catch (error) {
    if (!isAbort(error)) throw error;
  }
}

/** Makes every request of a deployment that the hub sees: location, key, bytes, report. */
async function deploy(
  { projectId, credential, onDeployed, onError }: AgentOptions,
  client: DeployClient,
  { version, hostId }: { version: string; hostId: string },
): Promise<void> {
  const started_at = new Date().toISOString();
  const location = await client.locate(version);
  await client.authorize(credential, location.signature);
  const hash = createHash("sha256");
  for await (const chunk of client.download(version, location, { maxBytes: MAX_BYTES })) hash.update(chunk);
  if (hash.digest("hex") !== location.artifact_sha256) onError("other_bytes");
  await client.report({
    project_id: projectId,
    deployment_id: randomUUID(),
    status: "success",
    version,
    started_at,
    completed_at: new Date().toISOString(),
    plugins: [],
    host_id: hostId,
    error_message: null,
  });
  onDeployed(version);
}
