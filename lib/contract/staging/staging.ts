import * as z from "zod";
import { sha256Hex, timestamp } from "../identifiers.ts";
import { versionState } from "../surfaces/version-state.ts";

/** Versions that wait for approval, on the wire (docs/contract/staging.md). */

/** A version that waits for approval. */
export const stagedVersion = z.object({
  project_id: z.string(),
  /** `plugin:SLUG`, `service:SLUG` or `project:ID`. */
  target: z.string(),
  /** The target's name for people. */
  name: z.string(),
  version: z.string(),
  /** Digest of the stored bytes, which an approval names. */
  sha256: sha256Hex,
  size_bytes: z.int().nonnegative(),
  /** Base64; null for a plugin or service that its author has not signed. */
  signer_public_key: z.string().nullable(),
  staged_at: timestamp,
  /** Name of the key that staged it; null where that is not known any more. */
  published_by: z.string().nullable(),
  is_yanked: z.boolean(),
  /** Whether the caller may approve it. The stager may not. */
  may_approve: z.boolean(),
});
export type StagedVersion = z.infer<typeof stagedVersion>;

/** Most versions of one approval. */
export const MAX_APPROVED = 100;

const approvedVersion = z.strictObject({
  project_id: z.string().min(1).max(64),
  version: z.string().min(1).max(128),
  /** Digest of the bytes that the approver has seen. */
  sha256: sha256Hex,
});
export type ApprovedVersion = z.infer<typeof approvedVersion>;

/** An approval is of all its versions, or of none. */
export const approvalRequest = z.strictObject({ versions: z.array(approvedVersion).min(1).max(MAX_APPROVED) });

/** The versions that an approval has published, in its order. */
export const approvalAnswer = z.object({
  versions: z.array(
    z.object({
      project_id: z.string(),
      version: z.string(),
      sha256: sha256Hex,
      /** State of the version, where not every host may have it: a rollout may hold it, or bring it wave by wave. */
      state: versionState.optional(),
    }),
  ),
});

export const rejectionRequest = z.strictObject({ reason: z.string().min(1).max(1024) });

/** Whether new versions of a project, plugin or service have to be approved. */
export const approvalRule = z.strictObject({ required: z.boolean() });
