import * as z from "zod";
import { sha256Hex } from "../../contract/identifiers.ts";
import { STATE_CAUSES, VERSION_STATES } from "../../contract/version-states.ts";
import { base64, blobId, count, name, projectId, text, time, yes } from "./columns.ts";
import { projects } from "./core-tables.ts";
import { type RowOf, table } from "./table.ts";

/** Columns that say what has become of a published version. */
const marks = {
  is_yanked: yes,
  yanked_reason: text.nullable(),
  /** Advice against the version; null for none. */
  deprecated_message: text.nullable(),
  /** The version that the advice names instead. */
  replaced_by: name.nullable(),
  /** Null for an open version, which every host may have. */
  state: z.enum(VERSION_STATES).nullable(),
  state_cause: z.enum(STATE_CAUSES).nullable(),
  /** Id of the rollout that caused the state, which may have been pruned since. */
  state_rollout: name.nullable(),
  /** When the version entered the state. */
  state_since: time.nullable(),
  /** Free text of the hub or of a person. */
  state_reason: text.nullable(),
  /** Whether hosts that run the version are to go back. */
  is_taken_back: yes,
  /** When `version.held` was last sent; null unless the version is held. */
  told_at: time.nullable(),
  /** Id of the key that approved its staged bytes; null for a version that nobody has approved, as is the next one. */
  approved_by: text.nullable(),
  approved_at: time.nullable(),
};

/** A published version of a project, plugin or service. */
export const versions = table(
  "versions",
  {
    /** Id of its main blob, too: the artifact or the archive. */
    id: blobId,
    project_id: projectId,
    version: name,
    created_at: time,
    /** Id of the key that published it. */
    published_by: text.nullable(),
    /** SHA-256 of the packed tree, as the publisher says; null for an archive, as is the next one. */
    content_sha256: sha256Hex.nullable(),
    project_name: name.nullable(),
    /** The value of X-Signature; null for an artifact, as is the next one. */
    archive_signature: name.nullable(),
    repo: text.nullable(),
    ...marks,
  },
  {
    unique: { versions_label: ["project_id", "version"] },
    indexes: {
      // The newest versions of a target, and its newest yanked ones, without a look at all the others.
      versions_newest: ["project_id", "id"],
      versions_yanked: ["project_id", "is_yanked", "id"],
      versions_state: ["project_id", "is_yanked", "state"],
      versions_told: ["told_at"],
      versions_staged: ["state", "id"],
    },
    references: { project_id: projects },
    needs: { id: "blobs" },
  },
);
export type VersionsTable = RowOf<typeof versions>;
export type Marks = Pick<VersionsTable, keyof typeof marks>;

/** The marks by which every host may have a version. */
export const OPEN = {
  ...{ state: null, state_cause: null, state_rollout: null, state_since: null, state_reason: null },
  ...{ is_taken_back: 0, told_at: null },
} satisfies Partial<Marks>;

/** The marks of a version that nobody has approved. */
export const UNAPPROVED = { approved_by: null, approved_at: null } satisfies Partial<Marks>;

/** The marks of an open version that nobody has said anything of. */
export const UNMARKED: Marks = {
  ...{ is_yanked: 0, yanked_reason: null, deprecated_message: null, replaced_by: null },
  ...UNAPPROVED,
  ...OPEN,
};

export const BLOB_PARTS = ["artifact", "archive", "delta", "index", "statement"] as const;

/** The ledger of stored bytes: every blob of every version. */
export const blobs = table(
  "blobs",
  {
    id: blobId,
    version_id: blobId,
    project_id: projectId,
    /** Relation to its version: the artifact or archive itself, a delta to it, its sealed index, or a statement. */
    part: z.enum(BLOB_PARTS),
    /** The version that a delta leads from, or the kind of a statement; empty for other parts. */
    base_version: text,
    base_content_sha256: sha256Hex.nullable(),
    size_bytes: count,
    /** SHA-256 of the stored bytes, as the hub counted them. */
    sha256: sha256Hex,
    /**
     * Ed25519 over the stored bytes, in its one canonical form: authorize looks artifacts and deltas up by it. Null for
     * an index, and for an archive that its author has not signed; so is the key.
     */
    signature: base64.nullable(),
    signer_public_key: base64.nullable(),
  },
  {
    unique: { blobs_part: ["version_id", "part", "base_version"] },
    indexes: {
      blobs_signature: ["project_id", "signature", "id"],
      blobs_signer: ["project_id", "signer_public_key"],
      // The sum of a quota reads nothing but this index.
      blobs_project: ["project_id", "part", "size_bytes"],
    },
    references: { project_id: projects, version_id: { table: versions, cascades: true } },
    digest: "sha256",
  },
);
export type BlobsTable = RowOf<typeof blobs>;

/** The signature over a blob, and the key that made it: base64. */
export type BlobSignature = Pick<BlobsTable, "signature" | "signer_public_key">;
/** The signature of a blob that nobody has signed. */
export const UNSIGNED = { signature: null, signer_public_key: null } satisfies BlobSignature;

/** Data-encryption keys of artifacts and deltas under a KEK. */
export const sealed = table(
  "sealed",
  { id: blobId, project_id: projectId, kek_id: name, sealed_dek: base64 },
  { references: { id: { table: blobs, cascades: true } } },
);
export type SealedTable = RowOf<typeof sealed>;
/** A data-encryption key on its way into the database. */
export type SealedDek = Pick<SealedTable, "kek_id" | "sealed_dek">;

/** The label of a version that somebody has deleted: it never names other bytes. */
export const deletedVersions = table(
  "deleted_versions",
  {
    project_id: projectId,
    version: name,
    /** SHA-256 of the deleted bytes. */
    sha256: sha256Hex,
    reason: text,
    deleted_at: time,
  },
  { key: ["project_id", "version"], references: { project_id: projects } },
);
