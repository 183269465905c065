import type { FastifyRequest } from "fastify";
import { ARCHIVE_PART, type VersionFields, versionFields } from "../../contract/surfaces/marketplace.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import { unprocessable } from "../base/errors.ts";
import { recordId } from "../base/identity.ts";
import type { Principal } from "../base/principal.ts";
import { insertVersion, type NewVersion } from "../records/insert-version.ts";
import { inTransaction } from "../records/port.ts";
import { lockProject } from "../records/projects.ts";
import { type BlobSignature, UNSIGNED } from "../records/version-tables.ts";
import { findVersionById, type Version } from "../records/versions.ts";
import { isStaged, stagingCheck } from "./approval.ts";
import { type CheckArchive, requireSoundArchive } from "./archive-check.ts";
import type { Bringing } from "./kept-uploads.ts";
import { PassingSignature, type Signed } from "./passing-signature.ts";
import { type OnPublished, type PublicationParts, publish, type Published, versionExists } from "./publication.ts";
import { completeForm, receiveUpload, type UploadedFile } from "./receive.ts";
import { admitSigner, requireSigner, storedSignature } from "./signed-bytes.ts";

/** Parts of the hub that publishing an archive needs. */
export interface ArchiveParts extends PublicationParts {
  checkArchive: CheckArchive;
}

/** Target of a publication, and the key that publishes. */
export interface PublishedTarget {
  id: string;
  kind: MarketplaceKind;
  principal: Principal;
  /** Request, if its upload may be continued by another one. */
  bringing?: Bringing | undefined;
}

/** Renames the fields of an author's signature to those of an artifact's. */
const signedIn = ({ signature_ed25519: signature, signer_public_key }: Partial<VersionFields>): Partial<Signed> => ({
  ...(signature !== undefined && { signature }),
  ...(signer_public_key !== undefined && { signer_public_key }),
});

/** Returns the author's signature in a form; undefined without one. @throws HubError 422 for an incomplete one */
function authorIn(fields: VersionFields): Signed | undefined {
  const { signature, signer_public_key } = signedIn(fields);
  if (signature === undefined && signer_public_key === undefined) return undefined;
  if (signature !== undefined && signer_public_key !== undefined) return { signature, signer_public_key };
  throw unprocessable("signature_ed25519, signer_public_key: must both be given, or neither.");
}

/**
 * Checks an archive that has arrived, and publishes it. The caller discards the blob.
 *
 * @param author null for an imported archive, which its author signs later
 * @throws HubError 422 for an archive that no agent would install, 409 when the version exists with other bytes
 */
export async function publishArchive(
  hub: ArchiveParts,
  target: PublishedTarget,
  fields: VersionFields,
  { blob, sha256 }: UploadedFile,
  onPublished: OnPublished<Version>,
  author: BlobSignature | null = null,
): Promise<Published<Version>> {
  const { description } = await requireSoundArchive(hub.checkArchive, blob.path, target.kind);
  const { version, signature, repo = null, visibility } = fields;
  if (isStaged(fields) && visibility !== undefined)
    throw unprocessable(`visibility: a staged version leaves that of its ${target.kind} as it is.`);
  const row: NewVersion = {
    ...(author ?? UNSIGNED),
    ...{
      id: recordId("rel", hub.clock()),
      project_id: target.id,
      version,
      archive_signature: signature,
      repo,
      needs_agent: null,
    },
    description,
    ...{ part: "archive", size_bytes: blob.size, sha256, content_sha256: null, project_name: null, dek: null },
    ...{ published_by: target.principal.keyId, created_at: hub.now() },
  };
  return publish<Version>(hub, {
    kind: target.kind,
    id: row.id,
    blob,
    find: () => findVersionById(hub.database.kysely, row.id),
    insert: (lost) =>
      inTransaction(hub.database.kysely, async (transaction) => {
        const locked = await lockProject(transaction, target.id);
        if (author !== null) await requireSigner(transaction, locked, author.signer_public_key);
        const record = await insertVersion(transaction, row, { visibility, lost, stage: isStaged(fields) });
        if (record.id === row.id) await onPublished(transaction, record);
        return record;
      }),
    isSameContent: (existing) => existing.sha256 === sha256,
    refusal: ({ sha256: stored, archive_signature, signer_public_key: signer }) => {
      if (stored !== sha256 || archive_signature !== signature)
        return versionExists(version, `another ${ARCHIVE_PART.name}`, stored);
      if (author === null || author.signer_public_key === null || author.signer_public_key === signer) return undefined;
      return versionExists(version, signer === null ? "no signature of its author" : "another signer", stored);
    },
  });
}

/**
 * Receives a plugin's or service's archive, verifies its author's signature if it has one, and publishes it. The hub
 * never sees the secret behind its HMAC.
 *
 * @throws HubError as {@link publishArchive} and {@link receiveUpload} do
 */
export async function uploadArchive(
  hub: ArchiveParts,
  target: PublishedTarget,
  request: FastifyRequest,
  onPublished: OnPublished<Version>,
): Promise<Published<Version>> {
  const signature = new PassingSignature(request, versionFields, signedIn);
  const checkStaging = await stagingCheck(hub.database.kysely, target.id, target.principal);
  await using upload = await receiveUpload(request, {
    blobs: hub.blobs,
    part: ARCHIVE_PART.name,
    maxBytes: hub.maxArtifactBytes,
    bringing: target.bringing,
    onFile: (fields, isWhole) => {
      const watch = signature.begin(fields, isWhole);
      if ("version" in fields) checkStaging(fields);
      return watch;
    },
  });
  const { fields, file } = completeForm(upload, ARCHIVE_PART.name, versionFields);
  checkStaging(fields);
  const author = authorIn(fields);
  if (author !== undefined) {
    await signature.check(author, file.blob);
    await admitSigner(hub.database.kysely, target.id, author.signer_public_key);
  }
  return await publishArchive(hub, target, fields, file, onPublished, author ? storedSignature(author) : UNSIGNED);
}
