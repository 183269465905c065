/**
 * The tables, as kysely sees them. Everything is text or an integer, so that one schema serves SQLite and PostgreSQL:
 * times are ISO 8601 in UTC with milliseconds (they sort as text), binary values are base64, lists and records are
 * JSON.
 */

export interface ProjectsTable {
  id: string;
  kind: "plugin" | "service" | "project";
  slug: string;
  name: string;
  owner: string;
  description: string | null;
  homepage: string | null;
  repository: string | null;
  visibility: "public" | "private";
  /** The one answer to "latest" (contract/versions.ts), recomputed by every transaction that changes the versions. */
  latest_version: string | null;
  created_at: string;
  /** Surface A's detail record as JSON, made by the transaction that changed it; null for projects of surface B. */
  detail: string | null;
  detail_etag: string | null;
}

export interface ApiKeysTable {
  id: string;
  name: string;
  owner: string;
  /** Scope names, separated by spaces. */
  scopes: string;
  project_id: string | null;
  prefix: string;
  /** SHA-256 of the key, hexadecimal. The key itself is nowhere. */
  hash: string;
  expires_at: string | null;
  revoked_at: string | null;
  created_at: string;
}

export interface DeploymentCredentialsTable {
  hash: string;
  key_id: string;
  project_id: string;
  created_at: string;
}

export interface SessionsTable {
  hash: string;
  key_id: string;
  project_id: string;
  expires_at: string;
}

export interface ArtifactsTable {
  id: string;
  project_id: string;
  version: string;
  project_name: string;
  /** Of the packed tree, as the publisher says. */
  content_sha256: string;
  /** Of the stored bytes, as the hub counted them. */
  artifact_sha256: string;
  size_bytes: number;
  /** Base64 in its one canonical form: authorize looks artifacts up by it. */
  signature: string;
  signer_public_key: string;
  kek_id: string;
  sealed_dek: string;
  is_yanked: number;
  yanked_reason: string | null;
  created_at: string;
}

/** The label of a version that somebody has deleted: it never names other bytes. */
export interface DeletedVersionsTable {
  project_id: string;
  version: string;
  /** Of the bytes that it named. */
  sha256: string;
  reason: string;
  deleted_at: string;
}

/** A delta that leads to an artifact's version from an earlier one. */
export interface DeltasTable {
  id: string;
  artifact_id: string;
  project_id: string;
  base_version: string;
  base_content_sha256: string;
  /** Of the stored bytes. */
  artifact_sha256: string;
  size_bytes: number;
  /** Base64 in its one canonical form, as an artifact's. */
  signature: string;
  signer_public_key: string;
  kek_id: string;
  sealed_dek: string;
  created_at: string;
}

/** The sealed index of an artifact's version. */
export interface IndexesTable {
  id: string;
  artifact_id: string;
  /** Of the stored bytes. */
  sha256: string;
  size_bytes: number;
  created_at: string;
}

/** A published version of a plugin or service. */
export interface VersionsTable {
  id: string;
  target_id: string;
  version: string;
  size_bytes: number;
  sha256: string;
  /** The value of X-Signature. */
  signature: string;
  repo: string | null;
  is_yanked: number;
  yanked_reason: string | null;
  created_at: string;
}

export interface GrantsTable {
  target_id: string;
  /** The owner whose keys see the private target. */
  grantee: string;
  created_at: string;
}

/** The append-only log of both surfaces. */
export interface ReportsTable {
  id: string;
  /**
   * The holder of the view that the report belongs to: on surface A the key's owner, on surface B empty (the project is
   * the view).
   */
  holder: string;
  /** `plugin/<slug>`, `service/<slug>` or a project id. */
  target: string;
  host_id: string;
  version: string;
  status: "success" | "failed" | "rolled_back";
  /** Surface B only; a second report with the same one changes nothing. */
  deployment_id: string | null;
  /** JSON, as the routes answer it. */
  record: string;
  created_at: string;
}

/** The newest record of each host, next to the log, so that a fleet view reads one index and nothing else. */
export interface HostsTable {
  holder: string;
  target: string;
  host_id: string;
  /** The view's change number when this host last changed. */
  change: number;
  report_id: string;
  record: string;
  /** When it last polled, to the hour; null for one that does not say its name. */
  seen_at: string | null;
}

/** One row per fleet view: its change counter orders reports, and is the view's ETag and cursor. */
export interface ViewsTable {
  holder: string;
  target: string;
  changes: number;
  /** The change with which a host was last forgotten; 0 for never. A cursor from before it says nothing of that host. */
  forgotten: number;
}

/** Key-encryption keys by name only. A retired one seals nothing any more. */
export interface KeksTable {
  id: string;
  retired_at: string | null;
  created_at: string;
}

/** Secrets of the hub itself and developers' signing secrets, sealed under a KEK. */
export interface SealedSecretsTable {
  /** `hub` or `signing-key/<owner>`. */
  name: string;
  kek_id: string;
  sealed: string;
  created_at: string;
}

/** The state that the hubs of one database share. */
export interface HubStateTable {
  name: string;
  value: string;
}

/** Counts of requests that hubs share, for their limits. */
export interface RateCountsTable {
  key: string;
  /** Start of the window, in milliseconds since 1970. */
  window_start: number;
  count: number;
}

/** The audit log: who did what to what, kept for a time of its own. Never with a secret. */
export interface AuditTable {
  id: string;
  created_at: string;
  /** Such as `key.create`, `version.publish`. */
  action: string;
  /** The owner and the id of the key that did it. */
  actor: string;
  key_id: string;
  /** The thing it was done to: a key, project, target, version, grant. */
  subject: string;
  /** JSON object with further facts. */
  facts: string;
  address: string;
  request_id: string;
}

/** The most that an owner or project may store. */
export interface QuotasTable {
  /** `owner/NAME` or `project/ID`. */
  subject: string;
  max_bytes: number | null;
  max_versions: number | null;
}

export interface Schema {
  projects: ProjectsTable;
  api_keys: ApiKeysTable;
  deployment_credentials: DeploymentCredentialsTable;
  sessions: SessionsTable;
  artifacts: ArtifactsTable;
  deltas: DeltasTable;
  indexes: IndexesTable;
  releases: VersionsTable;
  deleted_versions: DeletedVersionsTable;
  grants: GrantsTable;
  reports: ReportsTable;
  hosts: HostsTable;
  views: ViewsTable;
  keks: KeksTable;
  sealed_secrets: SealedSecretsTable;
  hub_state: HubStateTable;
  audit: AuditTable;
  rate_counts: RateCountsTable;
  quotas: QuotasTable;
}
