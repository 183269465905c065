import * as z from "zod";
import { sha256Hex } from "../../contract/identifiers.ts";
import { STATE_CAUSES, VERSION_STATES } from "../../contract/version-states.ts";
import { base64, blobId, count, json, name, projectId, text, time, yes } from "./columns.ts";
import { projects } from "./core-tables.ts";
import { type RowOf, table } from "./table.ts";

/** Columns with what has become of a published version. */
const marks = {
  is_yanked: yes,
  yanked_reason: text.nullable(),
  /** Advice against the version; null for none. */
  deprecated_message: text.nullable(),
  /** Version that the advice recommends instead. */
  replaced_by: name.nullable(),
  /** State of the version; null for an open one, which every host may have. */
  state: z.enum(VERSION_STATES).nullable(),
  state_cause: z.enum(STATE_CAUSES).nullable(),
  /** Id of the rollout that caused the state, which may have been pruned since. */
  state_rollout: name.nullable(),
  /** Time when the version entered the state. */
  state_since: time.nullable(),
  /** Free text of the hub or of a person. */
  state_reason: text.nullable(),
  /** Whether hosts that run the version are to go back. */
  is_taken_back: yes,
  /** Time of the last `version.held` event; null unless the version is held. */
  told_at: time.nullable(),
  /**
   * Id of the key that approved its staged bytes. This and the next column are null for a version that was not staged.
   */
  approved_by: text.nullable(),
  approved_at: time.nullable(),
};

/** Published versions of projects, plugins and services. */
export const versions = table(
  "versions",
  {
    /** Id, also of its main blob: the artifact or the archive. */
    id: blobId,
    project_id: projectId,
    version: name,
    created_at: time,
    /** Id of the key that published it. */
    published_by: text.nullable(),
    /** SHA-256 of the packed tree, as stated by the publisher. This and the next column are null for an archive. */
    content_sha256: sha256Hex.nullable(),
    project_name: name.nullable(),
    /** Value of X-Signature. This and the next column are null for an artifact. */
    archive_signature: name.nullable(),
    repo: text.nullable(),
    ...marks,
    /** JSON list of the ends of whoever staged it (ends.ts); null for one that was not staged, or by 0.1.0. */
    ends: json.nullable(),
    /** Description in its plugin.yaml; null without one, for an artifact, and for a version of 0.1.0. */
    description: text.nullable(),
    /** Version of Sealift that its hosts need, as its publisher has said; null where it has not. */
    needs_agent: name.nullable(),
  },
  {
    unique: { versions_label: ["project_id", "version"] },
    indexes: {
      // The newest versions of a target, and its newest yanked ones, without reading all the others.
      versions_newest: ["project_id", "id"],
      versions_yanked: ["project_id", "is_yanked", "id"],
      versions_state: ["project_id", "is_yanked", "state"],
      versions_told: ["told_at"],
      versions_staged: ["state", "id"],
    },
    references: { project_id: projects },
    needs: { id: "blobs" },
    added: {
      "0006-ends": { columns: ["ends"], indexes: {} },
      "0010-descriptions": { columns: ["description"], indexes: {} },
      "0015-agents": { columns: ["needs_agent"], indexes: {} },
    },
  },
);
export type VersionsTable = RowOf<typeof versions>;
export type Marks = Pick<VersionsTable, keyof typeof marks>;

/** Marks of a version that every host may have. */
export const OPEN = {
  ...{ state: null, state_cause: null, state_rollout: null, state_since: null, state_reason: null },
  ...{ is_taken_back: 0, told_at: null },
} satisfies Partial<Marks>;

/** Marks of a version without an approval. */
export const UNAPPROVED = { approved_by: null, approved_at: null } satisfies Partial<Marks>;

/** Marks of an open version about which nobody has said anything. */
export const UNMARKED: Marks = {
  ...{ is_yanked: 0, yanked_reason: null, deprecated_message: null, replaced_by: null },
  ...UNAPPROVED,
  ...OPEN,
};

export const BLOB_PARTS = ["artifact", "archive", "delta", "index", "statement"] as const;

/** Ledger of stored bytes: every blob of every version. */
export const blobs = table(
  "blobs",
  {
    id: blobId,
    version_id: blobId,
    project_id: projectId,
    /** Relation to its version: the artifact or archive itself, a delta to it, its sealed index, or a statement. */
    part: z.enum(BLOB_PARTS),
    /** Base version of a delta, or kind of a statement; empty for other parts. */
    base_version: text,
    base_content_sha256: sha256Hex.nullable(),
    size_bytes: count,
    /** SHA-256 of the stored bytes, as the hub counted them. */
    sha256: sha256Hex,
    /**
     * Ed25519 signature of the stored bytes, in its one canonical form: authorize finds artifacts and deltas by it.
     * Null, like the key, for an index, and for an archive without its author's signature.
     */
    signature: base64.nullable(),
    signer_public_key: base64.nullable(),
  },
  {
    unique: { blobs_part: ["version_id", "part", "base_version"] },
    indexes: {
      blobs_signature: ["project_id", "signature", "id"],
      blobs_signer: ["project_id", "signer_public_key"],
      // Quotas are summed from this index alone.
      blobs_project: ["project_id", "part", "size_bytes"],
    },
    references: { project_id: projects, version_id: { table: versions, cascades: true } },
    digest: "sha256",
  },
);
export type BlobsTable = RowOf<typeof blobs>;

/** Signature of a blob, and the key that made it, base64. */
export type BlobSignature = Pick<BlobsTable, "signature" | "signer_public_key">;
/** Fields of a blob without a signature. */
export const UNSIGNED = { signature: null, signer_public_key: null } satisfies BlobSignature;

/** Data encryption keys of artifacts and deltas, under a KEK. */
export const sealed = table(
  "sealed",
  { id: blobId, project_id: projectId, kek_id: name, sealed_dek: base64 },
  { references: { id: { table: blobs, cascades: true } } },
);
export type SealedTable = RowOf<typeof sealed>;
/** Data encryption key, to be stored. */
export type SealedDek = Pick<SealedTable, "kek_id" | "sealed_dek">;

/** Labels of deleted versions, which never name other bytes. */
export const deletedVersions = table(
  "deleted_versions",
  {
    project_id: projectId,
    version: name,
    /** SHA-256 of the deleted bytes. */
    sha256: sha256Hex,
    reason: text,
    deleted_at: time,
    /** Whether hosts that still run it are to go back. */
    is_taken_back: yes,
    /** Time of its publication; null for one that a hub of version 0.1 deleted. */
    published_at: time.nullable(),
  },
  {
    key: ["project_id", "version"],
    references: { project_id: projects },
    defaults: { is_taken_back: 0 },
    added: {
      "0003-taken-back": {
        columns: ["is_taken_back", "published_at"],
        indexes: { deleted_taken_back: ["project_id", "is_taken_back"] },
      },
    },
  },
);
