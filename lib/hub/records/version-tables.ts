import { sha256Hex } from "../../contract/identifiers.ts";
import { base64, blobId, count, name, projectId, text, time, yes } from "./columns.ts";
import { projects } from "./core-tables.ts";
import { type RowOf, table } from "./table.ts";

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

export const artifacts = table(
  "artifacts",
  {
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
  },
  {
    unique: { artifacts_version: ["project_id", "version"] },
    indexes: {
      artifacts_signature: ["project_id", "signature"],
      // The newest versions of a project, for lists.
      artifacts_newest: ["project_id", "id"],
      artifacts_signer: ["project_id", "signer_public_key"],
    },
    references: { project_id: projects },
    defaults: { is_yanked: 0 },
    digest: "artifact_sha256",
  },
);
export type ArtifactsTable = RowOf<typeof artifacts>;

/** A delta that leads to an artifact's version from an earlier one. */
export const deltas = table(
  "deltas",
  {
    id: blobId,
    artifact_id: blobId,
    project_id: projectId,
    base_version: name,
    base_content_sha256: sha256Hex,
    ...signedBytes,
    created_at: time,
  },
  {
    unique: { deltas_base: ["artifact_id", "base_version"] },
    indexes: { deltas_signature: ["project_id", "signature"] },
    references: { project_id: projects, artifact_id: { table: artifacts, cascades: true } },
    digest: "artifact_sha256",
  },
);
export type DeltasTable = RowOf<typeof deltas>;

/** The sealed index of an artifact's version. */
export const indexes = table(
  "indexes",
  {
    id: blobId,
    artifact_id: blobId,
    /** Of the stored bytes. */
    sha256: sha256Hex,
    size_bytes: count,
    created_at: time,
  },
  {
    unique: { indexes_artifact_id_key: ["artifact_id"] },
    references: { artifact_id: { table: artifacts, cascades: true } },
    digest: "sha256",
  },
);
export type IndexesTable = RowOf<typeof indexes>;

/** A published version of a plugin or service. */
export const releases = table(
  "releases",
  {
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
  },
  {
    unique: { releases_version: ["target_id", "version"] },
    // The newest versions of a target, and its newest yanked ones, without a look at all the others.
    indexes: { releases_newest: ["target_id", "id"], releases_yanked: ["target_id", "is_yanked", "id"] },
    references: { target_id: projects },
    digest: "sha256",
  },
);
export type VersionsTable = RowOf<typeof releases>;

/** The label of a version that somebody has deleted: it never names other bytes. */
export const deletedVersions = table(
  "deleted_versions",
  {
    project_id: projectId,
    version: name,
    /** Of the bytes that it named. */
    sha256: sha256Hex,
    reason: text,
    deleted_at: time,
  },
  { key: ["project_id", "version"], references: { project_id: projects } },
);
