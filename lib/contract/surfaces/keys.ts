import * as z from "zod";
import { versionContent, versionMarks, versionOrigin } from "../facts/version.ts";
import { hostId, slug, timestamp } from "../identifiers.ts";
import { later } from "../later.ts";
import { MAX_LOOK_ALIKES } from "../look-alikes.ts";
import { personName } from "../person-names.ts";
import { SCOPES } from "../scopes.ts";
import { versionState } from "./version-state.ts";

/** Key service (docs/contract/keys.md). */

export const scope = later(() => z.enum(SCOPES));
export type Scope = z.infer<typeof scope>;

/** Default scopes of a key: those that a host needs. */
export const DEFAULT_SCOPES: readonly Scope[] = ["deploy", "report", "read"];

/** Default lifetime of a key, in days. */
export const DEFAULT_KEY_DAYS = 90;

export const createKeyRequest = later(() =>
  z.strictObject({
    name: z.string().min(1).max(255),
    owner: z.string().min(1).max(255).optional(),
    scopes: z.array(scope).min(1).optional(),
    project_id: z.string().min(1).max(64).nullish(),
    host: hostId.nullish(),
    /** Person that it is issued for, as sign-on names the person's keys: approvals tell people apart by it. */
    acts_for: personName.optional(),
    /** Expiry; null for a key that never ends. Default: {@link DEFAULT_KEY_DAYS}. */
    expires_at: timestamp.nullish(),
  }),
);
export type CreateKeyRequest = z.infer<typeof createKeyRequest>;

export const apiKeyRecord = later(() =>
  z.object({
    id: z.string(),
    name: z.string(),
    owner: z.string(),
    scopes: z.array(scope),
    project_id: z.string().nullable(),
    /** First characters of the key, to recognize it by. */
    prefix: z.string(),
    expires_at: z.string().nullable(),
    revoked_at: z.string().nullable(),
    created_at: z.string(),
    /** Time of the last use, to the hour; null for an unused key. Not in the contract. */
    last_used_at: z.string().nullable().optional(),
    /** Only host that the key speaks for; null for any. Not in the contract. */
    host: z.string().nullable().optional(),
  }),
);
export type ApiKeyRecord = z.infer<typeof apiKeyRecord>;

/** States of keys in lists: a key ends when it is revoked or expires. */
export const KEY_STATES = ["live", "ended"] as const;
export type KeyState = (typeof KEY_STATES)[number];

/** Time for which lists show a key that has ended, in milliseconds: 30 days. */
export const ENDED_SHOWN_MS = 30 * 24 * 60 * 60 * 1000;

/** Replaces a key, which ends after a grace period. */
export const rotateKeyRequest = later(() =>
  z.strictObject({
    /** Seconds for which the old key still works. Default: a day. */
    grace_seconds: z
      .int()
      .nonnegative()
      .max(90 * 86_400)
      .optional(),
  }),
);

/** Answer to a creation, the only one with the secrets. */
export const createdKey = later(() =>
  apiKeyRecord.extend({ key: z.string(), deployment_credential: z.string().optional() }),
);
export type CreatedKey = z.infer<typeof createdKey>;

export const projectKind = later(() => z.enum(["plugin", "service", "project"]));

export const createProjectRequest = later(() =>
  z.strictObject({
    name: z.string().min(1).max(255),
    kind: projectKind,
    slug: slug.optional(),
    /** Whether another one of the owner and kind may have the name; refused with `name_taken` otherwise. */
    same_name: z.boolean().optional(),
  }),
);

export type CreateProjectRequest = z.input<typeof createProjectRequest>;

/** Those who set rules about the approval of new versions. */
export const APPROVAL_RULERS = ["owner", "administrator", "hub"] as const;

export const projectRecord = later(() =>
  z.object({
    id: z.string(),
    name: z.string(),
    kind: projectKind,
    slug: z.string(),
    created_at: z.string(),
    /** Not in the contract. */
    owner: z.string().optional(),
    /** Null while nothing is published. Not in the contract. */
    latest_version: z.string().nullable().optional(),
    /** Whether new versions are staged until somebody approves them. Not in the contract. */
    requires_approval: z.boolean().optional(),
    /** Author of the last change of that rule; null for nobody. Not in the contract. */
    approval_by: z.enum(APPROVAL_RULERS).nullable().optional(),
    /**
     * Slugs of other owners that look like this one, of those that the caller sees; omitted where there are none, and
     * in lists. Not in the contract.
     */
    looks_like: z.array(z.string()).max(MAX_LOOK_ALIKES).optional(),
  }),
);
export type ProjectRecord = z.infer<typeof projectRecord>;

/** Changes of a project, plugin or service. */
export const projectChanges = later(() =>
  z.strictObject({
    name: z.string().min(1).max(255),
    /** Allows a name that is taken, as in {@link createProjectRequest}. */
    same_name: z.boolean().optional(),
  }),
);

export type ProjectChanges = z.infer<typeof projectChanges>;

export const transferRequest = later(() =>
  z.strictObject({
    owner: z.string().min(1).max(255),
    /** Whether keys bound to the project go on working, as keys of the new owner. They are revoked otherwise. */
    keep_keys: z.boolean().optional(),
  }),
);
export type TransferRequest = z.infer<typeof transferRequest>;

/** Project after a transfer, and how many of its keys were revoked. */
export const transferAnswer = later(() => projectRecord.extend({ revoked_keys: z.int().nonnegative() }));
export type TransferAnswer = z.infer<typeof transferAnswer>;

/** Numbers of what deleting a project, plugin or service removes. */
export const projectContents = later(() =>
  z.object({
    versions: z.int().nonnegative(),
    /** Hosts of the fleet: the project's, or that of the owner of a plugin or service. */
    hosts: z.int().nonnegative(),
    /** Hosts of every owner that have reported or polled in the last 30 days. */
    reporting_hosts: z.int().nonnegative(),
    rollouts: z.int().nonnegative(),
    /** Keys that are bound to it. */
    keys: z.int().nonnegative(),
    signers: z.int().nonnegative(),
    grants: z.int().nonnegative(),
    /** Webhooks for this target alone. */
    webhooks: z.int().nonnegative(),
  }),
);
export type ProjectContents = z.infer<typeof projectContents>;

/** Project, with what deleting it removes. */
export const projectDeletion = later(() => projectRecord.extend({ contents: projectContents }));
export type ProjectDeletion = z.infer<typeof projectDeletion>;

export const projectDeletionQuery = later(() =>
  z.object({
    /** Deletes also while hosts still report to it. */
    force: z.enum(["true", "false"]).optional(),
    /** Reason, for the audit log. */
    reason: z.string().min(1).max(1024).optional(),
  }),
);

/** Published version of a project, plugin or service, for those who manage it. */
export const managedVersion = later(() =>
  z.object({
    ...versionContent,
    /** Ed25519 key that signed it, base64; null for a plugin or service without its author's signature. */
    signer_public_key: z.string().nullable(),
    is_latest: z.boolean(),
    /** Version of Sealift that its hosts need, as its publisher has said; omitted where it has not. */
    needs_agent: z.string().optional(),
    ...versionMarks,
    /** State of the version; omitted for an open one. */
    state: versionState.optional(),
    /** Reason for the state, in the words of the hub or of the person who caused it. */
    state_reason: z.string().nullish(),
    ...versionOrigin,
    /** Kinds of the statements added to it, such as `sbom`; omitted by hubs that know none. */
    statements: z.array(z.string()).optional(),
    /** Deltas that lead to a project's version. */
    deltas: z.array(z.object({ base_version: z.string(), size_bytes: z.int().nonnegative() })).optional(),
  }),
);
export type ManagedVersion = z.infer<typeof managedVersion>;

const reason = later(() => z.string().min(1).max(1024));
/** Reason for a yank; optional, as on surface A. */
export const versionYankRequest = later(() => z.strictObject({ reason: reason.nullish() }));
/** Advice against a version, and the version to use instead. */
export const versionDeprecationRequest = later(() =>
  z.strictObject({
    message: reason,
    replaced_by: z.string().max(128).nullish(),
  }),
);
/** Reason for opening a held version to every host. */
export const versionReleaseRequest = later(() => z.strictObject({ reason: reason.nullish() }));
/** `released` is false for a version that is already open. */
export const versionReleased = later(() => z.object({ version: z.string(), released: z.boolean() }));
/** Reason of a deletion, kept in the audit log and shown to later publishers of the label. */
export const versionDeletion = later(() => z.object({ reason }));

/** Facts of the hub, for administrators. */
export const hubFacts = later(() =>
  z.object({
    database: z.enum(["sqlite", "postgres"]),
    /** Kind of blob storage. */
    blobs: z.string(),
    started_at: z.string(),
    resident_bytes: z.int().nonnegative(),
  }),
);
export type HubFacts = z.infer<typeof hubFacts>;

/** Audit entry: who did what to what, from where. */
export const auditRecord = later(() =>
  z.object({
    id: z.string(),
    created_at: z.string(),
    action: z.string(),
    /** Owner of the key that did it; the next field is the key's id. */
    actor: z.string(),
    key_id: z.string(),
    subject: z.string(),
    facts: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
    address: z.string(),
    request_id: z.string(),
  }),
);
export type AuditRecord = z.infer<typeof auditRecord>;

/** Quota of an owner or project, with its usage. */
export const quotaRecord = later(() =>
  z.object({
    /** `owner/NAME` or `project/ID`. */
    subject: z.string(),
    /** Most bytes; null for no limit. */
    max_bytes: z.number().nullable(),
    max_versions: z.number().nullable(),
    usage: z.object({ bytes: z.number(), versions: z.number() }),
  }),
);
export type QuotaRecord = z.infer<typeof quotaRecord>;
