import * as core from "./core-tables.ts";
import { hostLabels, hosts, reports, views } from "./fleet-tables.ts";
import type { AnyTable, RowOf } from "./table.ts";
import { blobs, deletedVersions, sealed, versions } from "./version-tables.ts";

/**
 * Tables of the core, each after those that it refers to: the order of migrations, backups and moves. All columns are
 * text or integer, for SQLite and PostgreSQL: times are ISO 8601 in UTC with milliseconds (they sort), bytes are
 * base64, lists and records are JSON.
 */
const CORE = [
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
  core.signers,
  core.audit,
  core.hubState,
  core.rateCounts,
] as const;

/** Returns the tables of the core and those of features. */
export const tablesOf = (features: readonly { tables?: readonly AnyTable[] }[]): readonly AnyTable[] => [
  ...CORE,
  ...features.flatMap(({ tables = [] }) => tables),
];

/** Rows of each table of the core, as kysely reads and writes them. A feature adds its own (`withTables`). */
export type Schema = { [T in (typeof CORE)[number] as T["name"]]: RowOf<T> };
