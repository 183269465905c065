import type { FastifyRequest } from "fastify";
import * as z from "zod";
import { ARCHIVE_PART, type ReleaseFields, releaseFields } from "../../contract/surfaces/marketplace.ts";
import type { TargetKind } from "../../contract/surfaces/paths.ts";
import { recordId } from "../access/credentials.ts";
import type { HubContext } from "../context.ts";
import { faultsAnswer, parseOrRefuse } from "../http/validation.ts";
import { findReleaseById, insertRelease, type Release } from "../records/targets.ts";
import { requireSoundArchive } from "./archive-check.ts";
import { publish, type Published } from "./publication.ts";
import { receiveUpload, type UploadedFile } from "./receive.ts";

/** What an archive is published under. */
export interface PublishedTarget {
  id: string;
  kind: TargetKind;
}

/**
 * Checks an archive that has arrived, from a publisher or from a source host, and publishes it. The caller discards
 * the blob.
 *
 * @throws HubError 422 for an archive that no agent would install, 409 when the version exists with other bytes
 */
export async function publishArchive(
  hub: HubContext,
  target: PublishedTarget,
  fields: ReleaseFields,
  { blob, sha256 }: UploadedFile,
): Promise<Published<Release>> {
  await requireSoundArchive(hub.checkArchive, blob.path, target.kind);
  const release: Release = {
    id: recordId("rel", hub.clock()),
    target_id: target.id,
    version: fields.version,
    size_bytes: blob.size,
    sha256,
    signature: fields.signature,
    repo: fields.repo ?? null,
    is_yanked: 0,
    yanked_reason: null,
    created_at: hub.now(),
  };
  return publish<Release>(hub, {
    id: release.id,
    blob,
    find: () => findReleaseById(hub.database.kysely, release.id),
    insert: (lost) => insertRelease(hub.database.kysely, release, { visibility: fields.visibility, lost }),
    isSame: (existing) => existing.sha256 === sha256 && existing.signature === fields.signature,
    isSameContent: (existing) => existing.sha256 === sha256,
    differs: (existing) => ({ what: `another ${ARCHIVE_PART.name}`, contentSha256: existing.sha256 }),
  });
}

/**
 * Receives a plugin's or service's archive and publishes it. The developer signed it; the hub never sees the secret.
 *
 * @throws HubError as {@link publishArchive} and {@link receiveUpload} do
 */
export async function uploadArchive(
  hub: HubContext,
  target: PublishedTarget,
  request: FastifyRequest,
): Promise<Published<Release>> {
  await using upload = await receiveUpload(request, {
    blobs: hub.blobs,
    part: ARCHIVE_PART.name,
    maxBytes: hub.maxArtifactBytes,
    onFile(fields) {
      const parsed = releaseFields.partial().safeParse(fields, { reportInput: true });
      if (!parsed.success) throw faultsAnswer(parsed.error);
      return undefined;
    },
  });
  const form = { ...upload.fields, [ARCHIVE_PART.name]: upload.file };
  const schema = releaseFields.extend({ [ARCHIVE_PART.name]: z.object({}, "must be a file part") });
  const fields = parseOrRefuse(schema, form);
  return await publishArchive(hub, target, fields, upload.file!);
}
