import * as z from "zod";
import { sha256Hex } from "../../contract/identifiers.ts";
import { base64, blobId, count, json, name, projectId, text, time, yes } from "./columns.ts";
import { hostLabels, hosts, views } from "./fleet-tables.ts";
import { versionStates } from "./latest/state-table.ts";
import { rollouts } from "./rollout-tables.ts";
import { webhookDeliveries, webhooks } from "./webhook-tables.ts";

/**
 * The tables as kysely sees them, and the rules for rows of a backup. All is text or integer, for SQLite and
 * PostgreSQL: times are ISO 8601 in UTC with milliseconds (they sort), bytes are base64, lists and records are JSON.
 */

const projects = z.strictObject({
  id: projectId,
  kind: z.enum(["plugin", "service", "project"]),
  slug: name,
  name,
  owner: name,
  description: text.nullable(),
  homepage: text.nullable(),
  repository: text.nullable(),
  visibility: z.enum(["public", "private"]),
  /** The latest open version, renewed by every transaction that changes versions or their states. */
  latest_version: text.nullable(),
  created_at: time,
  /** Surface A's detail record as JSON, made by the transaction that changed it; null for projects of surface B. */
  detail: json.nullable(),
  detail_etag: text.nullable(),
  /** The gate as JSON (latest/gate.ts), while a version that is not open ranks above the latest one; null else. */
  rollout: json.nullable(),
});
export type ProjectsTable = z.output<typeof projects>;

const apiKeys = z.strictObject({
  id: name,
  name,
  owner: name,
  /** Scope names, separated by spaces. */
  scopes: text,
  project_id: projectId.nullable(),
  prefix: text,
  /** SHA-256 of the key, hexadecimal. The key itself is nowhere. */
  hash: sha256Hex,
  expires_at: text.nullable(),
  revoked_at: text.nullable(),
  created_at: time,
  /** To the hour. */
  last_used_at: time.nullable(),
});
export type ApiKeysTable = z.output<typeof apiKeys>;

const deploymentCredentials = z.strictObject({
  hash: sha256Hex,
  key_id: name,
  project_id: projectId,
  created_at: time,
});

interface SessionsTable {
  hash: string;
  key_id: string;
  project_id: string;
  expires_at: string;
}

/** Bytes that a publisher has signed, with their key under a KEK. */
const signedBytes = {
  /** Of the stored bytes, as the hub counted them. */
  artifact_sha256: sha256Hex,
  size_bytes: count,
  /** Base64 in its one canonical form: authorize looks artifacts and deltas up by it. */
  signature: base64,
  signer_public_key: base64,
  kek_id: name,
  sealed_dek: base64,
};

const artifacts = z.strictObject({
  id: blobId,
  project_id: projectId,
  version: name,
  project_name: name,
  /** Of the packed tree, as the publisher says. */
  content_sha256: sha256Hex,
  ...signedBytes,
  is_yanked: yes,
  yanked_reason: text.nullable(),
  created_at: time,
  /** Id of the key that published it. */
  published_by: text.nullable(),
});
export type ArtifactsTable = z.output<typeof artifacts>;

/** The label of a version that somebody has deleted: it never names other bytes. */
const deletedVersions = z.strictObject({
  project_id: projectId,
  version: name,
  /** Of the bytes that it named. */
  sha256: sha256Hex,
  reason: text,
  deleted_at: time,
});

/** A project, plugin or service that somebody has deleted. The slug of a plugin or service is never used again. */
const deletedProjects = z.strictObject({
  id: projectId,
  kind: z.enum(["plugin", "service", "project"]),
  slug: name,
  owner: name,
  deleted_at: time,
  /** When the last row of its fleet was removed; null until then. */
  cleared_at: time.nullable(),
});

/** A delta that leads to an artifact's version from an earlier one. */
const deltas = z.strictObject({
  id: blobId,
  artifact_id: blobId,
  project_id: projectId,
  base_version: name,
  base_content_sha256: sha256Hex,
  ...signedBytes,
  created_at: time,
});
export type DeltasTable = z.output<typeof deltas>;

/** The sealed index of an artifact's version. */
const indexes = z.strictObject({
  id: blobId,
  artifact_id: blobId,
  /** Of the stored bytes. */
  sha256: sha256Hex,
  size_bytes: count,
  created_at: time,
});
export type IndexesTable = z.output<typeof indexes>;

/** A published version of a plugin or service. */
const releases = z.strictObject({
  id: blobId,
  target_id: projectId,
  version: name,
  size_bytes: count,
  sha256: sha256Hex,
  /** The value of X-Signature. */
  signature: name,
  repo: text.nullable(),
  is_yanked: yes,
  yanked_reason: text.nullable(),
  created_at: time,
  /** Id of the key that published it. */
  published_by: text.nullable(),
});
export type VersionsTable = z.output<typeof releases>;

const grants = z.strictObject({
  target_id: projectId,
  /** The owner whose keys see the private target. */
  grantee: name,
  created_at: time,
});

/** The append-only log of both surfaces. */
const reports = z.strictObject({
  id: name,
  /** The holder of the report's view: on surface A the key's owner, on surface B empty. */
  holder: text,
  /** `plugin/<slug>`, `service/<slug>` or a project id. */
  target: name,
  host_id: name,
  version: text,
  status: z.enum(["success", "failed", "rolled_back"]),
  /** Surface B only; a second report with the same one changes nothing. */
  deployment_id: text.nullable(),
  /** JSON, as the routes answer it. */
  record: json,
  created_at: time,
});
export type ReportsTable = z.output<typeof reports>;

/** Key-encryption keys by name only. A retired one seals nothing any more. */
const keks = z.strictObject({ id: name, retired_at: text.nullable(), created_at: time });

/** Secrets of the hub itself and developers' signing secrets, sealed under a KEK. */
const sealedSecrets = z.strictObject({
  /** `hub` or `signing-key/<owner>`. */
  name,
  kek_id: name,
  sealed: base64,
  created_at: time,
});

/** The state that the hubs of one database share. */
const hubState = z.strictObject({ name, value: text });

/** Counts of requests that hubs share, for their limits. */
interface RateCountsTable {
  key: string;
  /** Start of the window, in milliseconds since 1970. */
  window_start: number;
  count: number;
}

/** The audit log: who did what to what, kept for a time of its own. Never with a secret. */
const audit = z.strictObject({
  id: name,
  created_at: time,
  /** Such as `key.create`, `version.publish`. */
  action: name,
  /** The owner and the id of the key that did it. */
  actor: text,
  key_id: text,
  /** The thing it was done to: a key, project, target, version, grant. */
  subject: text,
  /** JSON object with further facts. */
  facts: json,
  address: text,
  request_id: text,
});

/** The most that an owner or project may store. */
const quotas = z.strictObject({
  /** `owner/NAME` or `project/ID`. */
  subject: name,
  max_bytes: count.nullable(),
  max_versions: count.nullable(),
});

/** The register of a project's signers: no rows, no register. */
const signers = z.strictObject({
  project_id: projectId,
  /** As artifacts have it. */
  public_key: base64,
  name: text,
  added_at: time,
  added_by: name,
  retired_at: time.nullable(),
  retired_by: name.nullable(),
  revoked_at: time.nullable(),
  revoked_by: name.nullable(),
  /** Why it was retired or revoked. */
  reason: text.nullable(),
});
export type SignersTable = z.output<typeof signers>;

/** The tables that a backup has, each after those that it refers to. Sessions and rate counts are left behind. */
export const ROWS = {
  projects,
  api_keys: apiKeys,
  deployment_credentials: deploymentCredentials,
  artifacts,
  deltas,
  indexes,
  releases,
  deleted_versions: deletedVersions,
  deleted_projects: deletedProjects,
  grants,
  reports,
  hosts,
  host_labels: hostLabels,
  views,
  keks,
  sealed_secrets: sealedSecrets,
  quotas,
  signers,
  version_states: versionStates,
  rollouts,
  webhooks,
  webhook_deliveries: webhookDeliveries,
  audit,
  hub_state: hubState,
} as const;

export type Schema = { [Table in keyof typeof ROWS]: z.output<(typeof ROWS)[Table]> } & {
  sessions: SessionsTable;
  rate_counts: RateCountsTable;
};
