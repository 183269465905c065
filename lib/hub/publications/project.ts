import type { FastifyRequest } from "fastify";
import * as z from "zod";
import { Ed25519Verifier, publicKeyOf } from "../../artifact/signatures/ed25519.ts";
import { ARTIFACT_PART, type PublishFields, publishFields } from "../../contract/surfaces/deploy.ts";
import { recordId } from "../access/credentials.ts";
import type { IncomingBlob } from "../blobs/port.ts";
import type { HubContext } from "../context.ts";
import { HubError } from "../http/errors.ts";
import { faultsAnswer, parseOrRefuse } from "../http/validation.ts";
import { sealInTransaction } from "../keys/keyring.ts";
import { dekContext } from "../keys/sealing.ts";
import { type Artifact, findArtifactById, insertArtifact, signersOf } from "../records/artifacts.ts";
import { publish, type Published, type Told, versionExists } from "./publication.ts";
import { receiveUpload, type Upload, type UploadedFile } from "./receive.ts";

const decode = (base64: string) => Buffer.from(base64, "base64");
/** The one form of a base64 text in which it is stored, compared and looked up. */
const canonical = (base64: string) => decode(base64).toString("base64");

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

async function verifies(
  blob: IncomingBlob,
  fields: PublishFields,
  passed: Ed25519Verifier | undefined,
): Promise<boolean> {
  if (passed !== undefined) return passed.verify();
  const verifier = new Ed25519Verifier(decode(fields.signer_public_key), decode(fields.signature));
  for await (const chunk of blob.readBack()) verifier.update(chunk);
  return verifier.verify();
}

/** @throws 422 naming every missing field, the file among them; 400 for malformed binary fields */
function completeForm(upload: Upload): { fields: PublishFields; file: UploadedFile } {
  const form = { ...upload.fields, [ARTIFACT_PART.name]: upload.file };
  const schema = publishFields.extend({ [ARTIFACT_PART.name]: z.object({}, "must be a file part") });
  const fields = parseOrRefuse(schema, form);
  return { fields, file: upload.file! };
}

function store(
  hub: HubContext,
  projectId: string,
  fields: PublishFields,
  { blob, sha256 }: UploadedFile,
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
    artifact_sha256: sha256,
    size_bytes: blob.size,
    signature: canonical(fields.signature),
    signer_public_key: canonical(fields.signer_public_key),
    is_yanked: 0,
    yanked_reason: null,
    created_at: now,
  };
  return publish<Artifact>(hub, {
    kind: "project",
    id,
    blob,
    find: () => findArtifactById(hub.database.kysely, id),
    insert: (lost) =>
      sealInTransaction(
        { db: hub.database.kysely, keyring: hub.keyring, now },
        decode(fields.dek),
        dekContext(projectId, id),
        async (transaction, { kekId, sealed }) => {
          const record = await insertArtifact(transaction, { ...facts, kek_id: kekId, sealed_dek: sealed }, lost);
          if (record.id === id) await told(transaction, record);
          return record;
        },
      ),
    isSameContent: (existing) => existing.content_sha256 === fields.content_sha256,
    refusal: ({ version, content_sha256, artifact_sha256 }) =>
      artifact_sha256 === sha256 ? undefined : versionExists(version, "other bytes", content_sha256),
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
  const { fields, file } = completeForm(upload);
  if (!(await verifies(file.blob, fields, verifier))) {
    throw new HubError(400, "signature_rejected", "The signature does not verify over the bytes received.");
  }
  await refusePublicSeed(hub, projectId, decode(fields.signer_public_key));
  return await store(hub, projectId, fields, file, told);
}
