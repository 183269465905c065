import * as z from "zod";
import { slug, timestamp } from "../identifiers.ts";
import { SCOPES } from "../scopes.ts";

/** The key service (docs/contract/keys.md). */

export const scope = z.enum(SCOPES);
export type Scope = z.infer<typeof scope>;

/** The scopes of a key whose creator names none: those that a host needs. */
export const DEFAULT_SCOPES: readonly Scope[] = ["deploy", "report", "read"];

export const createKeyRequest = z.strictObject({
  name: z.string().min(1).max(255),
  owner: z.string().min(1).max(255).optional(),
  scopes: z.array(scope).min(1).optional(),
  project_id: z.string().min(1).max(64).nullish(),
  expires_at: timestamp.nullish(),
});
export type CreateKeyRequest = z.infer<typeof createKeyRequest>;

export const apiKeyRecord = z.object({
  id: z.string(),
  name: z.string(),
  owner: z.string(),
  scopes: z.array(scope),
  project_id: z.string().nullable(),
  /** The first characters of the key, to recognise it by. */
  prefix: z.string(),
  expires_at: z.string().nullable(),
  revoked_at: z.string().nullable(),
  created_at: z.string(),
});
export type ApiKeyRecord = z.infer<typeof apiKeyRecord>;

/** The answer of creation: the only time that the secrets are shown. */
export const createdKey = apiKeyRecord.extend({ key: z.string(), deployment_credential: z.string().optional() });
export type CreatedKey = z.infer<typeof createdKey>;

export const projectKind = z.enum(["plugin", "service", "project"]);

export const createProjectRequest = z.strictObject({
  name: z.string().min(1).max(255),
  kind: projectKind,
  slug: slug.optional(),
});

export const projectRecord = z.object({
  id: z.string(),
  name: z.string(),
  kind: projectKind,
  slug: z.string(),
  created_at: z.string(),
});
export type ProjectRecord = z.infer<typeof projectRecord>;

/** Actions that the audit log tells apart. An action, once released, keeps its name. */
export const AUDIT_ACTIONS = [
  "key.create",
  "key.revoke",
  "project.create",
  "target.change",
  "grant.add",
  "grant.remove",
  "version.publish",
  "version.import",
  "version.yank",
  "version.unyank",
  "delta.publish",
  "index.publish",
  "signing-key.register",
  "signing-key.forget",
  "admin-key.renew",
  "kek.rotate",
] as const;
export const auditAction = z.enum(AUDIT_ACTIONS);
export type AuditAction = z.infer<typeof auditAction>;

/** An entry of the audit log: who did what to what, from where. */
export const auditRecord = z.object({
  id: z.string(),
  created_at: z.string(),
  action: z.string(),
  /** The owner of the key that did it, and the key's id. */
  actor: z.string(),
  key_id: z.string(),
  subject: z.string(),
  facts: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
  address: z.string(),
  request_id: z.string(),
});
export type AuditRecord = z.infer<typeof auditRecord>;

/**
 * Every error body of ours (docs/contract/marketplace.md): `detail` for readers of surface A, `error` for those of
 * surface B.
 */
export const errorBody = z.object({ error: z.string(), detail: z.string(), code: z.string() });

/** Lists are pages by key: `next` is the cursor of the following page, or null. */
export const page = <T extends z.ZodType>(item: T) => z.object({ items: z.array(item), next: z.string().nullable() });
