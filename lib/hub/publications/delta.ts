import type { FastifyRequest } from "fastify";
import * as z from "zod";
import { ARTIFACT_PART, deltaFields, INDEX_PART } from "../../contract/surfaces/deploy.ts";
import { conflict, HubError, notFound } from "../base/errors.ts";
import { recordId } from "../base/identity.ts";
import type { Principal } from "../base/principal.ts";
import { findArtifact, type SealedBlob } from "../records/artifacts.ts";
import { findBlob } from "../records/blobs.ts";
import { insertDelta, insertIndex } from "../records/deltas.ts";
import { findMarks } from "../records/latest/states.ts";
import { inTransaction, type Queries, type Transacted } from "../records/port.ts";
import { lockProject, type Project } from "../records/projects.ts";
import { type BlobsTable, UNSIGNED } from "../records/version-tables.ts";
import { findVersionById } from "../records/versions.ts";
import { requireCompletable } from "./approval.ts";
import type { Bringing } from "./kept-uploads.ts";
import { PassingSignature } from "./passing-signature.ts";
import { type OnPublished, publish, type Published, versionExists } from "./publication.ts";
import { completeForm, receiveUpload } from "./receive.ts";
import { canonical, insertSealed, type SealedParts, storedSignature } from "./signed-bytes.ts";

/** Version to which bytes are added, and the key that adds them. */
export interface CompletedVersion {
  projectId: string;
  version: string;
  principal: Principal;
  /** Request, if its upload may be continued by another one. */
  bringing?: Bringing | undefined;
}

/**
 * Finds the artifact of a version that a key may add to. A key that may only stage adds to its own staged versions.
 *
 * @throws HubError 403, 404
 */
async function completedArtifact(
  hub: SealedParts,
  { projectId, version, principal }: CompletedVersion,
): Promise<SealedBlob> {
  const found = await findArtifact(hub.database.statements, projectId, version, principal);
  if (found === undefined) throw notFound("The project has no such version.");
  const { artifact } = found;
  requireCompletable(principal, artifact);
  return artifact;
}

/**
 * Locks the target, and requires again what an upload required when it began.
 *
 * @param id of the version's artifact
 * @throws HubError 403 for a version that was approved meanwhile, 404 for one that was deleted or replaced
 */
async function lockCompleted(
  transaction: Transacted,
  { projectId, principal }: CompletedVersion,
  id: string,
): Promise<Project> {
  const project = await lockProject(transaction, projectId);
  const version = await findVersionById(transaction, id);
  if (version === undefined) throw notFound("The version was deleted meanwhile.");
  requireCompletable(principal, version);
  return project;
}

/** Requires the published base of a delta: the delta's location reveals it to every host. @throws HubError 404 */
async function requireBase(
  db: Queries,
  projectId: string,
  { base_version, base_content_sha256 }: Pick<z.output<typeof deltaFields>, "base_version" | "base_content_sha256">,
): Promise<void> {
  const base = await findMarks(db, projectId, base_version);
  if (base?.content_sha256 !== base_content_sha256 || base.state === "staged")
    throw notFound("The project has no such base version, or one with another tree.");
}

/**
 * Receives a delta that leads to a published version, verifies it and makes it visible. Only the version's own signer
 * may add one: hosts that pin the signer would reject any other.
 *
 * @throws HubError 400, 403 for another signer, 404, 409 for a second delta from this base, or for too many, 413
 */
export async function publishDelta(
  hub: SealedParts,
  completed: CompletedVersion,
  request: FastifyRequest,
  onPublished: OnPublished<BlobsTable>,
): Promise<Published<BlobsTable>> {
  const { projectId, version } = completed;
  const artifact = await completedArtifact(hub, completed);
  const signature = new PassingSignature(request, deltaFields);
  await using upload = await receiveUpload(request, {
    blobs: hub.blobs,
    part: ARTIFACT_PART.name,
    maxBytes: Math.min(hub.maxArtifactBytes, Number(artifact.size_bytes)),
    bringing: completed.bringing,
    onFile: (fields, isWhole) => signature.begin(fields, isWhole),
  });
  const { fields, file } = completeForm(upload, ARTIFACT_PART.name, deltaFields);
  if (canonical(fields.signer_public_key) !== artifact.signer_public_key)
    throw new HubError(403, "forbidden", "The delta was signed by another key than the version.");
  await requireBase(hub.database.kysely, projectId, fields);
  await signature.check(fields, file.blob);

  const id = recordId("dlt", hub.clock());
  const now = hub.now();
  const { base_version, base_content_sha256 } = fields;
  const delta: BlobsTable = {
    ...{ id, version_id: artifact.id, project_id: projectId, part: "delta", base_version, base_content_sha256 },
    ...{ size_bytes: file.blob.size, sha256: file.sha256, ...storedSignature(fields) },
  };
  return await publish<BlobsTable>(hub, {
    kind: "delta",
    id,
    blob: file.blob,
    find: () => findBlob(hub.database.kysely, id),
    insert: (lost) =>
      insertSealed(hub, {
        ...{ id, projectId, now, fields, onPublished },
        async insert(transaction, dek) {
          const project = await lockCompleted(transaction, completed, artifact.id);
          await requireBase(transaction, projectId, fields);
          const record = await insertDelta(transaction, project, { delta, dek, lost });
          if (record === undefined) throw conflict("The version has as many deltas as it may have.");
          return record;
        },
      }),
    // Any delta from this base to this version can replace one that was lost.
    isSameContent: () => true,
    refusal: ({ sha256: stored }) =>
      stored === file.sha256
        ? undefined
        : versionExists(version, "another delta from this base", artifact.content_sha256!),
  });
}

/** Largest index: 500,000 files, sealed. Bytes. */
const MAX_INDEX_BYTES = 256 * 1024 * 1024;

/**
 * Receives the sealed index of a published version, which the hub cannot read.
 *
 * @throws HubError 403, 404 for an unknown version, 409 when it has another index, 413 beyond a quota
 */
export async function publishIndex(
  hub: SealedParts,
  completed: CompletedVersion,
  request: FastifyRequest,
  onPublished: OnPublished<BlobsTable>,
): Promise<Published<BlobsTable>> {
  const { projectId, version } = completed;
  const artifact = await completedArtifact(hub, completed);
  await using upload = await receiveUpload(request, {
    blobs: hub.blobs,
    part: INDEX_PART.name,
    maxBytes: Math.min(hub.maxArtifactBytes, MAX_INDEX_BYTES),
  });
  const { blob, sha256 } = completeForm(upload, INDEX_PART.name, z.object({})).file;
  const id = recordId("idx", hub.clock());
  const db = hub.database.kysely;
  const index: BlobsTable = {
    ...{ id, version_id: artifact.id, project_id: projectId, part: "index", base_version: "" },
    ...{ base_content_sha256: null, size_bytes: blob.size, sha256, ...UNSIGNED },
  };
  return await publish<BlobsTable>(hub, {
    kind: "index",
    id,
    blob,
    find: () => findBlob(db, id),
    insert: (lost) =>
      inTransaction(db, async (transaction) => {
        const project = await lockCompleted(transaction, completed, artifact.id);
        const record = await insertIndex(transaction, project, { index, lost });
        if (record.id === id) await onPublished(transaction, record);
        return record;
      }),
    // Every index of a version describes the same tree.
    isSameContent: () => true,
    refusal: ({ sha256: stored }) =>
      stored === sha256 ? undefined : versionExists(version, "another index", artifact.content_sha256!),
  });
}
