import { ifFound } from "../../client/answers.ts";
import { DeployClient } from "../../client/deploy-client.ts";
import type { HubConnection } from "../../client/hub-connection.ts";
import { MarketplaceClient } from "../../client/marketplace-client.ts";
import { SealiftError } from "../../contract/errors.ts";
import { baseUrl, type MarketplaceKind } from "../../contract/surfaces/paths.ts";
import type { TargetName } from "../../contract/target.ts";
import type { RootMark } from "../../contract/trust/marks.ts";
import { isDowngrade } from "../../contract/versions.ts";
import type { Layout } from "../../releases/layout.ts";
import type { DeployOptions } from "../deployment/run.ts";
import type { HealthTimes } from "../health/health-watch.ts";
import type { SettingsSource } from "../settings/follow.ts";
import type { Source } from "../sources/source.ts";
import type { SupervisorChoice } from "../supervisors/supervisor.ts";
import type { Latest } from "./decide.ts";
import type { DeploymentQueue } from "./deployment-queue.ts";
import type { EmitWatch } from "./events.ts";

/** Answer to one poll: nothing new, or the latest version, and the ETag for the next poll. */
export type Polled = ({ changed: false } | { changed: true; latest: Latest; etag: string | null }) & {
  /** Name of the project at the hub. */
  projectName?: string | undefined;
  /** Sentence for people about a changed answer, told once. */
  notice?: string | undefined;
};

/**
 * Polls the hub once.
 *
 * @param etag from an earlier poll, perhaps of another hub
 * @param running version that runs, null for none: the hub's answer depends on it, and surface B is asked whether it
 *   was yanked when the latest one is lower
 * @param root version of the trust root that this host follows, which fleets show; undefined for none
 * @throws SealiftError of the contract's kind
 */
export type Poll = (
  etag: string | undefined,
  signal: AbortSignal,
  running?: string | null,
  root?: RootMark,
) => Promise<Polled>;

/** Facts about a target that the loop needs. */
export interface WatchTarget {
  /** Name for people and in events; unique in one watch. */
  name: string;
  intervalMs: number;
  /** Address of its hub; a slow one delays its own targets only. */
  hub: string;
  poll: Poll;
  /** Connection for hints, and the target as people write it; undefined where hints are not wanted. */
  hints?: { target: string; connection: HubConnection } | undefined;
  /** Whether the version that waits for a window is fetched before that. */
  fetchAhead?: boolean;
  /** Returns the source of a version. */
  source: (version: string) => Source;
  options: Omit<DeployOptions, "signal" | "reinstall">;
  /** Settings of the fleet that this host takes; undefined where it has no key for them. */
  settings?: SettingsSource | undefined;
}

/** Context shared by all loops of one watch. */
export interface LoopContext {
  deployments: DeploymentQueue;
  /** Runs a poll when its hub has a free place, so that a thousand targets do not poll at once. */
  polling: <T>(hub: string, poll: () => Promise<T>) => Promise<T>;
  emit: EmitWatch;
  /** Returns the supervisor of another target in the same project root. */
  supervisorOf: (layout: Layout, target: TargetName) => SupervisorChoice | undefined;
  /** Returns a random number from 0 to 1. */
  random: () => number;
  healthTimes: HealthTimes;
}

/** Binds ETags to their hub: a target may move to another hub, which may use the same ones. */
function etagsOf({ hubUrl }: HubConnection) {
  const mark = `${baseUrl(hubUrl)} `;
  return {
    sent: (etag: string | undefined) => (etag?.startsWith(mark) ? etag.slice(mark.length) : undefined),
    kept: (etag: string | undefined) => (etag === undefined ? null : mark + etag),
  };
}

/** Returns a poll of surface A's detail record. */
export function marketplacePoll(kind: MarketplaceKind, slug: string, connection: HubConnection): Poll {
  const etags = etagsOf(connection);
  return async (etag, signal, running, root) => {
    const client = new MarketplaceClient(kind, slug, { ...connection, signal });
    const answer = await client.detailIfChanged(etags.sent(etag), running, root);
    if (!answer.changed) return answer;
    const { latest_version: latest, versions = [], next, withdrawn = null, root_version } = answer.value;
    const version = latest || null;
    const { sha256, signer_public_key: signer } = versions.find((candidate) => candidate.version === version) ?? {};
    return {
      changed: true,
      etag: etags.kept(answer.etag),
      latest: {
        version,
        identity: sha256 === undefined ? null : `sha256:${sha256}`,
        isSigned: signer !== undefined,
        yanked: versions.filter(({ is_yanked: yanked }) => yanked === true).map((candidate) => candidate.version),
        ...(root_version !== undefined && { rootVersion: root_version }),
        ...{ withdrawn, next: next?.version ?? null, nextAt: next?.not_before ?? null },
      },
    };
  };
}

/** Returns a poll of surface B's latest version. Session and signal of the first poll are kept for later ones. */
export function projectPoll(projectId: string, connection: HubConnection): Poll {
  const etags = etagsOf(connection);
  let client: DeployClient | undefined;
  return async (etag, signal, running, root) => {
    client ??= new DeployClient(projectId, { ...connection, signal });
    try {
      const answer = await client.latestIfChanged(etags.sent(etag), running, root);
      const projectName = await client.projectName();
      if (!answer.changed) return { ...answer, projectName };
      const { version, next, withdrawn = null, root_version: rootVersion } = answer.value;
      const { settings_version: settingsVersion } = answer.value;
      const isTakenBack =
        typeof running === "string" && isDowngrade(running, version) && (await isYanked(client, running));
      return {
        changed: true,
        projectName,
        etag: etags.kept(answer.etag),
        latest: {
          ...{ version, identity: null, yanked: isTakenBack ? [running] : [] },
          ...{ withdrawn, next: next?.version ?? null, nextAt: next?.not_before ?? null },
          ...(rootVersion !== undefined && { rootVersion }),
          ...(settingsVersion !== undefined && { settingsVersion }),
        },
      };
    } catch (error) {
      if (!(error instanceof SealiftError) || error.hubCode !== "no_version") throw error;
      const { settingsVersion } = error;
      const latest = {
        version: null,
        identity: null,
        yanked: [],
        ...(settingsVersion !== undefined && { settingsVersion }),
      };
      return { changed: true, etag: null, latest };
    }
  };
}

/** Returns whether the hub has yanked a version of the client's project, or has deleted it. */
async function isYanked(client: DeployClient, version: string): Promise<boolean> {
  const found = await ifFound(client.locate(version));
  return found === undefined || found.is_yanked === true;
}
