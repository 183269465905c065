import * as z from "zod";
import { sha256Hex, timestamp } from "../identifiers.ts";
import { later } from "../later.ts";
import { versionState } from "../surfaces/version-state.ts";

/** Versions that wait for approval, on the wire (docs/contract/staging.md). */

/** Version that waits for approval. */
export const stagedVersion = later(() =>
  z.object({
    project_id: z.string(),
    /** `plugin:SLUG`, `service:SLUG` or `project:ID`. */
    target: z.string(),
    /** Display name of the target. */
    name: z.string(),
    version: z.string(),
    /** Digest of the stored bytes, which an approval names. */
    sha256: sha256Hex,
    size_bytes: z.int().nonnegative(),
    /** Base64; null for a plugin or service without its author's signature. */
    signer_public_key: z.string().nullable(),
    staged_at: timestamp,
    /** Name of the key that staged it; null if unknown. */
    published_by: z.string().nullable(),
    is_yanked: z.boolean(),
    /** Whether the caller may approve it. The stager may not. */
    may_approve: z.boolean(),
  }),
);
export type StagedVersion = z.infer<typeof stagedVersion>;

/** Most versions of one approval. */
export const MAX_APPROVED = 100;

const approvedVersion = later(() =>
  z.strictObject({
    project_id: z.string().min(1).max(64),
    version: z.string().min(1).max(128),
    /** Digest of the bytes that the approver has inspected. */
    sha256: sha256Hex,
  }),
);
export type ApprovedVersion = z.infer<typeof approvedVersion>;

/** Approves all of its versions, or none. */
export const approvalRequest = later(() =>
  z.strictObject({ versions: z.array(approvedVersion).min(1).max(MAX_APPROVED) }),
);

/** Versions published by an approval, in its order. */
export const approvalAnswer = later(() =>
  z.object({
    versions: z.array(
      z.object({
        project_id: z.string(),
        version: z.string(),
        sha256: sha256Hex,
        /** State of the version if it is not open: a rollout may hold it or roll it out. */
        state: versionState.optional(),
      }),
    ),
  }),
);

/** Fate of a version that was staged. */
export const stagingOutcome = later(() =>
  z.object({
    version: z.string(),
    sha256: sha256Hex,
    /** `published` once it is approved, whatever becomes of it then. */
    state: z.enum(["staged", "published"]),
    /** Time of the approval; null for none. */
    approved_at: timestamp.nullable(),
  }),
);
export type StagingOutcome = z.infer<typeof stagingOutcome>;

export const rejectionRequest = later(() => z.strictObject({ reason: z.string().min(1).max(1024) }));

/** Whether new versions of a project, plugin or service have to be approved. */
export const approvalRule = later(() => z.strictObject({ required: z.boolean() }));
