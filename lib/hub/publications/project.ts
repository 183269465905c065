import type { FastifyRequest } from "fastify";
import { ARTIFACT_PART, type PublishFields, publishFields } from "../../contract/surfaces/deploy.ts";
import { recordId } from "../base/identity.ts";
import type { Principal } from "../base/principal.ts";
import { insertVersion } from "../records/insert-version.ts";
import { findVersionById, type Version } from "../records/versions.ts";
import { isStaged, stagingCheck } from "./approval.ts";
import type { Bringing } from "./kept-uploads.ts";
import { PassingSignature } from "./passing-signature.ts";
import { type OnPublished, publish, type Published, versionExists } from "./publication.ts";
import { completeForm, receiveUpload, type UploadedFile } from "./receive.ts";
import { admitSigner, insertSealed, type SealedParts, storedSignature } from "./signed-bytes.ts";

/** Project to publish to, and the key that publishes. */
export interface PublishedProject {
  projectId: string;
  principal: Principal;
  /** Request, if its upload may be continued by another one. */
  bringing?: Bringing | undefined;
}

function store(
  hub: SealedParts,
  { projectId, principal }: PublishedProject,
  fields: PublishFields,
  file: UploadedFile,
  onPublished: OnPublished<Version>,
): Promise<Published<Version>> {
  const id = recordId("art", hub.clock());
  const now = hub.now();
  const { version, project_name, content_sha256 } = fields;
  const facts = {
    ...{ id, project_id: projectId, version, project_name, content_sha256, archive_signature: null, repo: null },
    ...{ description: null, needs_agent: fields.needs_agent ?? null },
    ...({ part: "artifact", size_bytes: file.blob.size, sha256: file.sha256 } as const),
    ...storedSignature(fields),
    ...{ published_by: principal.keyId, created_at: now },
  };
  return publish<Version>(hub, {
    kind: "project",
    id,
    blob: file.blob,
    find: () => findVersionById(hub.database.kysely, id),
    insert: (lost) =>
      insertSealed(hub, {
        ...{ id, projectId, now, fields, onPublished },
        insert: (transaction, dek) => insertVersion(transaction, { ...facts, dek }, { lost, stage: isStaged(fields) }),
      }),
    isSameContent: (existing) => existing.content_sha256 === content_sha256,
    refusal: ({ sha256, content_sha256: stored }) =>
      sha256 === file.sha256 ? undefined : versionExists(version, "other bytes", stored!),
  });
}

/**
 * Receives a project's artifact, verifies its signature and publishes it.
 *
 * @throws HubError 400 for a signature that does not verify, 409 when the version exists with other bytes, and as
 *   {@link receiveUpload}
 */
export async function publishArtifact(
  hub: SealedParts,
  project: PublishedProject,
  request: FastifyRequest,
  onPublished: OnPublished<Version>,
): Promise<Published<Version>> {
  const signature = new PassingSignature(request, publishFields);
  const checkStaging = await stagingCheck(hub.database.kysely, project.projectId, project.principal);
  await using upload = await receiveUpload(request, {
    blobs: hub.blobs,
    part: ARTIFACT_PART.name,
    maxBytes: hub.maxArtifactBytes,
    bringing: project.bringing,
    onFile: (fields, isWhole) => {
      const watch = signature.begin(fields, isWhole);
      if ("version" in fields) checkStaging(fields);
      return watch;
    },
  });
  const { fields, file } = completeForm(upload, ARTIFACT_PART.name, publishFields);
  checkStaging(fields);
  await signature.check(fields, file.blob);
  await admitSigner(hub.database.kysely, project.projectId, fields.signer_public_key);
  return await store(hub, project, fields, file, onPublished);
}
