import * as z from "zod";
import { sha256Hex } from "../../contract/identifiers.ts";
import { APPROVAL_RULERS } from "../../contract/surfaces/keys.ts";
import { base64, count, json, name, projectId, text, time, yes } from "./columns.ts";
import { type RowOf, table } from "./table.ts";

const kind = z.enum(["plugin", "service", "project"]);

export const projects = table(
  "projects",
  {
    id: projectId,
    kind,
    slug: name,
    name,
    owner: name,
    /** Description that a person gave; null for none, so that the latest version's shows. */
    description: text.nullable(),
    homepage: text.nullable(),
    repository: text.nullable(),
    visibility: z.enum(["public", "private"]),
    /** Latest open version, renewed by every transaction that changes versions or their states. */
    latest_version: text.nullable(),
    created_at: time,
    /**
     * Detail record of surface A as JSON, written by the transaction that changed it; null for projects of surface B.
     */
    detail: json.nullable(),
    detail_etag: text.nullable(),
    /** Gate as JSON (latest/gate.ts), while a version that is not open ranks above the latest one; otherwise null. */
    gate: json.nullable(),
    /** Whether every new version is staged first, until another person approves it. */
    requires_approval: yes,
    /** Author of the last change of that rule; null for a rule of 0.1.0, and for none or one lifted by its owner. */
    approval_by: z.enum(APPROVAL_RULERS).nullable(),
    /** Id of the owner's trust root that names the signers, and its newest version; null for none. */
    root_id: name.nullable(),
    root_version: count.nullable(),
    /** Number that grows with each upload of settings for its hosts; null before the first. */
    settings_version: count.nullable(),
  },
  {
    unique: { projects_slug: ["kind", "slug"] },
    indexes: { projects_owner: ["owner", "id"] },
    added: {
      "0007-approval-rules": { columns: ["approval_by"], indexes: {} },
      "0011-trust-roots": { columns: ["root_id", "root_version"], indexes: {} },
      "0013-settings": { columns: ["settings_version"], indexes: {} },
    },
  },
);
export type ProjectsTable = RowOf<typeof projects>;

/** Deleted projects, plugins and services. The slug of a plugin or service is never used again. */
export const deletedProjects = table(
  "deleted_projects",
  {
    id: projectId,
    kind,
    slug: name,
    owner: name,
    deleted_at: time,
    /** Time when the last row of its fleet was removed; null until then. */
    cleared_at: time.nullable(),
  },
  { indexes: { deleted_projects_slug: ["kind", "slug"] } },
);

export const grants = table(
  "grants",
  {
    target_id: projectId,
    /** Owner whose keys see the private target. */
    grantee: name,
    created_at: time,
  },
  { key: ["target_id", "grantee"], references: { target_id: projects } },
);

export const apiKeys = table(
  "api_keys",
  {
    id: name,
    name,
    owner: name,
    /** Scope names, separated by spaces. */
    scopes: text,
    project_id: projectId.nullable(),
    /** Only host that the key speaks for; null for any. */
    host: text.nullable(),
    prefix: text,
    /** SHA-256 of the key, hexadecimal. The key itself is nowhere. */
    hash: sha256Hex,
    /** Actor behind a key of 0.1.0; null for itself. Later keys have `ends`, and null here and in the next column. */
    acts_for: text.nullable(),
    /** Actor who has trusted the workflow that got a key of 0.1.0. */
    trusted_by: text.nullable(),
    expires_at: text.nullable(),
    revoked_at: text.nullable(),
    created_at: time,
    /** Time of the last use, to the hour. */
    last_used_at: time.nullable(),
    /** JSON list of its ends (ends.ts); null for a key of 0.1.0. */
    ends: json.nullable(),
  },
  {
    unique: { api_keys_hash_key: ["hash"] },
    indexes: { api_keys_owner: ["owner", "id"], api_keys_host: ["project_id", "host"] },
    references: { project_id: projects },
    added: { "0006-ends": { columns: ["ends"], indexes: {} } },
  },
);
export type ApiKeysTable = RowOf<typeof apiKeys>;

export const deploymentCredentials = table(
  "deployment_credentials",
  { hash: sha256Hex, key_id: name, project_id: projectId, created_at: time },
  { key: ["hash"], references: { project_id: projects, key_id: apiKeys } },
);

export const sessions = table(
  "sessions",
  { hash: sha256Hex, key_id: name, project_id: projectId, expires_at: time },
  {
    key: ["hash"],
    indexes: { sessions_expiry: ["expires_at"] },
    references: { project_id: projects, key_id: apiKeys },
    copied: false,
  },
);

/** Registers of projects' signers. A project without rows has no register. */
export const signers = table(
  "signers",
  {
    project_id: projectId,
    /** Public key, base64, as in artifacts. */
    public_key: base64,
    name: text,
    added_at: time,
    added_by: name,
    retired_at: time.nullable(),
    retired_by: name.nullable(),
    revoked_at: time.nullable(),
    revoked_by: name.nullable(),
    /** Reason for which it was retired or revoked. */
    reason: text.nullable(),
  },
  { key: ["project_id", "public_key"], needs: { project_id: "projects" } },
);
export type SignersTable = RowOf<typeof signers>;

/** Key-encryption keys, by name only. A retired one is no longer used for sealing. */
export const keks = table("keks", { id: name, retired_at: text.nullable(), created_at: time });

/** Secrets of the hub itself and developers' signing secrets, sealed under a KEK. */
export const sealedSecrets = table(
  "sealed_secrets",
  {
    /** `hub` or `signing-key/<owner>`. */
    name,
    kek_id: name,
    sealed: base64,
    created_at: time,
  },
  { key: ["name"] },
);

/**
 * Audit log: who did what to what. Contains no secrets, is kept for a time of its own, and keeps the ids of deleted
 * keys.
 */
export const audit = table(
  "audit",
  {
    id: name,
    created_at: time,
    /** Action, such as `key.create` or `version.publish`. */
    action: name,
    /** Owner of the key that did it. */
    actor: text,
    key_id: text,
    /** Subject of the action: a key, project, target, version or grant. */
    subject: text,
    /** JSON object with further facts. */
    facts: json,
    address: text,
    request_id: text,
  },
  { indexes: { audit_age: ["created_at"] } },
);

/** State shared by the hubs of one database. */
export const hubState = table("hub_state", { name, value: text }, { key: ["name"] });

/** Counts of requests that hubs share, for their limits. */
export const rateCounts = table(
  "rate_counts",
  {
    key: name,
    /** Start of the window, in milliseconds since 1970. */
    window_start: count,
    count,
  },
  { key: ["key", "window_start"], indexes: { rate_counts_window: ["window_start"] }, copied: false },
);
