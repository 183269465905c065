import { ARCHIVE_PART, type ReleaseFields } from "../../contract/surfaces/marketplace.ts";
import { recordId } from "../access/credentials.ts";
import type { IncomingBlob } from "../blobs/port.ts";
import type { HubContext } from "../context.ts";
import { HubError } from "../http/errors.ts";
import { insertRelease, type Release } from "../records/targets.ts";
import { requireSoundArchive } from "./archive-check.ts";

/** An archive that has arrived, from a publisher or from a source host. */
export interface IncomingRelease {
  targetId: string;
  fields: ReleaseFields;
  blob: IncomingBlob;
  sha256: string;
}

/**
 * Checks an archive and publishes it: the bytes first, durably, then the record that makes them visible. Of two publishers of one
 * version, one wins; the other's bytes are removed. The caller discards the blob.
 *
 * @throws 422 for an archive that no agent would install, 409 when the version exists with other bytes
 */
export async function publishRelease(
  hub: HubContext,
  { targetId, fields, blob, sha256 }: IncomingRelease,
): Promise<{ release: Release; created: boolean }> {
  await requireSoundArchive(hub.checkArchive, blob.path);
  const release: Release = {
    id: recordId("rel", hub.clock()),
    target_id: targetId,
    version: fields.version,
    size_bytes: blob.size,
    sha256,
    signature: fields.signature,
    repo: fields.repo ?? null,
    is_yanked: 0,
    yanked_reason: null,
    created_at: hub.now(),
  };
  await blob.commit(release.id);
  let existing: Release | undefined;
  try {
    existing = await insertRelease(hub.database.kysely, release, fields.visibility);
  } catch (error) {
    await hub.blobs.remove(release.id);
    throw error;
  }
  if (existing === undefined) return { release, created: true };
  await hub.blobs.remove(release.id);
  if (existing.sha256 === sha256 && existing.signature === fields.signature) {
    return { release: existing, created: false };
  }
  throw new HubError(
    409,
    "version_exists",
    `Version ${fields.version} is published already, with another ${ARCHIVE_PART.name}.`,
    {
      fields: { content_sha256: existing.sha256 },
    },
  );
}
