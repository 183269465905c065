import type { FastifyRequest } from "fastify";
import { ARCHIVE_PART, type VersionFields, versionFields } from "../../contract/surfaces/marketplace.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import { recordId } from "../ground/identity.ts";
import { faultsAnswer } from "../http/validation.ts";
import { inTransaction } from "../records/port.ts";
import { findVersionById, insertVersion, type NewVersion, type Version } from "../records/versions.ts";
import { type CheckArchive, requireSoundArchive } from "./archive-check.ts";
import { type PublicationParts, publish, type Published, type Told, versionExists } from "./publication.ts";
import { completeForm, receiveUpload, type UploadedFile } from "./receive.ts";

/** The parts of the hub that publishing an archive needs. */
export interface ArchiveParts extends PublicationParts {
  checkArchive: CheckArchive;
}

/** The target under which an archive is published, and the id of the key that does. */
export interface PublishedTarget {
  id: string;
  kind: MarketplaceKind;
  publishedBy: string;
}

/**
 * Checks an archive that has arrived and publishes it. The caller discards the blob.
 *
 * @throws HubError 422 for an archive that no agent would install, 409 when the version exists with other bytes
 */
export async function publishArchive(
  hub: ArchiveParts,
  target: PublishedTarget,
  fields: VersionFields,
  { blob, sha256 }: UploadedFile,
  told: Told<Version>,
): Promise<Published<Version>> {
  await requireSoundArchive(hub.checkArchive, blob.path, target.kind);
  const { version, signature, repo = null, visibility } = fields;
  const row: NewVersion = {
    ...{ id: recordId("rel", hub.clock()), project_id: target.id, version, archive_signature: signature, repo },
    ...{ part: "archive", size_bytes: blob.size, sha256, content_sha256: null, project_name: null, sealed: null },
    ...{ published_by: target.publishedBy, created_at: hub.now() },
  };
  return publish<Version>(hub, {
    kind: target.kind,
    id: row.id,
    blob,
    find: () => findVersionById(hub.database.kysely, row.id),
    insert: (lost) =>
      inTransaction(hub.database.kysely, async (transaction) => {
        const record = await insertVersion(transaction, row, { visibility, lost });
        if (record.id === row.id) await told(transaction, record);
        return record;
      }),
    isSameContent: (existing) => existing.sha256 === sha256,
    refusal: ({ sha256: stored, archive_signature }) =>
      stored === sha256 && archive_signature === signature
        ? undefined
        : versionExists(version, `another ${ARCHIVE_PART.name}`, stored),
  });
}

/**
 * Receives a plugin's or service's archive and publishes it. The developer signed it; the hub never sees the secret.
 *
 * @throws HubError as {@link publishArchive} and {@link receiveUpload} do
 */
export async function uploadArchive(
  hub: ArchiveParts,
  target: PublishedTarget,
  request: FastifyRequest,
  told: Told<Version>,
): Promise<Published<Version>> {
  await using upload = await receiveUpload(request, {
    blobs: hub.blobs,
    part: ARCHIVE_PART.name,
    maxBytes: hub.maxArtifactBytes,
    onFile(fields) {
      const parsed = versionFields.partial().safeParse(fields, { reportInput: true });
      if (!parsed.success) throw faultsAnswer(parsed.error);
      return undefined;
    },
  });
  const { fields, file } = completeForm(upload, ARCHIVE_PART.name, versionFields);
  return await publishArchive(hub, target, fields, file, told);
}
