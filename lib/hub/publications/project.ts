import type { FastifyRequest } from "fastify";
import { Ed25519Verifier, publicKeyOf } from "../../artifact/signatures/ed25519.ts";
import { ARTIFACT_PART, type PublishFields, publishFields } from "../../contract/surfaces/deploy.ts";
import type { HubContext } from "../context.ts";
import { recordId } from "../ground/identity.ts";
import { HubError } from "../http/errors.ts";
import { faultsAnswer } from "../http/validation.ts";
import { type Artifact, findArtifactById, insertArtifact, signersOf } from "../records/artifacts.ts";
import { publish, type Published, type Told, versionExists } from "./publication.ts";
import { completeForm, receiveUpload, type UploadedFile } from "./receive.ts";
import { decode, insertSealed, requireSignature, requireSigner, signedColumns } from "./signed-bytes.ts";

/**
 * Fields that came before the file are checked before the file is read; with key and signature, it is verified as it
 * passes.
 */
function verifierFor(fields: Record<string, string>): Ed25519Verifier | undefined {
  const parsed = publishFields.partial().safeParse(fields, { reportInput: true });
  if (!parsed.success) throw faultsAnswer(parsed.error);
  const { signature, signer_public_key: key } = parsed.data;
  return signature === undefined || key === undefined ? undefined : new Ed25519Verifier(decode(key), decode(signature));
}

function store(
  hub: HubContext,
  projectId: string,
  fields: PublishFields,
  file: UploadedFile,
  told: Told<Artifact>,
): Promise<Published<Artifact>> {
  const id = recordId("art", hub.clock());
  const now = hub.now();
  const facts = {
    id,
    project_id: projectId,
    version: fields.version,
    project_name: fields.project_name,
    content_sha256: fields.content_sha256,
    ...signedColumns(fields, file),
    is_yanked: 0,
    yanked_reason: null,
    created_at: now,
  };
  return publish<Artifact>(hub, {
    kind: "project",
    id,
    blob: file.blob,
    find: () => findArtifactById(hub.database.kysely, id),
    insert: (lost) =>
      insertSealed(hub, {
        ...{ id, projectId, now, fields, told },
        insert: (transaction, sealed) => insertArtifact(transaction, { ...facts, ...sealed }, lost),
      }),
    isSameContent: (existing) => existing.content_sha256 === fields.content_sha256,
    refusal: ({ version, content_sha256, artifact_sha256 }) =>
      artifact_sha256 === file.sha256 ? undefined : versionExists(version, "other bytes", content_sha256),
  });
}

/**
 * Refuses a signer whose private key is the public key of an earlier one: `signer.pub` was given for `signer.key`, and
 * everybody who has it could sign.
 *
 * @throws HubError 400
 */
async function refusePublicSeed({ database }: HubContext, projectId: string, signer: Buffer): Promise<void> {
  for await (const earlier of signersOf(database.kysely, projectId)) {
    if (!signer.equals(publicKeyOf(decode(earlier)))) continue;
    throw new HubError(
      400,
      "signature_rejected",
      "The artifact was signed with a public key in the place of the private one: everybody could sign with it. Sign with signer.key.",
    );
  }
}

/**
 * Receives a project's artifact, verifies its signature and publishes it.
 *
 * @throws HubError 400 for a signature that does not verify, 409 when the version exists with other bytes, and as
 *   {@link receiveUpload}
 */
export async function publishArtifact(
  hub: HubContext,
  projectId: string,
  request: FastifyRequest,
  told: Told<Artifact>,
): Promise<Published<Artifact>> {
  let verifier: Ed25519Verifier | undefined;
  await using upload = await receiveUpload(request, {
    blobs: hub.blobs,
    part: ARTIFACT_PART.name,
    maxBytes: hub.maxArtifactBytes,
    onFile: (fields) => {
      verifier = verifierFor(fields);
      return verifier && ((chunk) => verifier?.update(chunk));
    },
  });
  const { fields, file } = completeForm(upload, ARTIFACT_PART.name, publishFields);
  await requireSignature(fields, file, verifier);
  await requireSigner(hub.database.kysely, projectId, fields.signer_public_key);
  await refusePublicSeed(hub, projectId, decode(fields.signer_public_key));
  return await store(hub, projectId, fields, file, told);
}
