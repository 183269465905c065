import * as core from "./core-tables.ts";
import { hostLabels, hosts, reports, views } from "./fleet-tables.ts";
import { hostInvites, joinedHosts } from "./joining-tables.ts";
import { publisherKeys, publishers, usedTokens } from "./publisher-tables.ts";
import { rollouts } from "./rollout-tables.ts";
import type { AnyTable, RowOf } from "./table.ts";
import { blobs, deletedVersions, sealed, versions } from "./version-tables.ts";
import { webhookDeliveries, webhooks } from "./webhook-tables.ts";

/**
 * Every table, each after those that it refers to: the order of migrations, backups and moves. All is text or integer,
 * for SQLite and PostgreSQL: times are ISO 8601 in UTC with milliseconds (they sort), bytes are base64, lists and
 * records are JSON.
 */
const ALL = [
  core.projects,
  core.apiKeys,
  core.deploymentCredentials,
  core.sessions,
  versions,
  blobs,
  sealed,
  deletedVersions,
  core.deletedProjects,
  core.grants,
  reports,
  hosts,
  hostLabels,
  views,
  core.keks,
  core.sealedSecrets,
  core.quotas,
  core.signers,
  rollouts,
  webhooks,
  webhookDeliveries,
  hostInvites,
  joinedHosts,
  publishers,
  publisherKeys,
  usedTokens,
  core.audit,
  core.hubState,
  core.rateCounts,
] as const;

export const TABLES: readonly AnyTable[] = ALL;

/** The rows of each table, as kysely reads and writes them. */
export type Schema = { [T in (typeof ALL)[number] as T["name"]]: RowOf<T> };
