import type { FastifyRequest } from "fastify";
import * as z from "zod";
import { Ed25519Verifier } from "../../artifact/signatures/ed25519.ts";
import { ARTIFACT_PART, deltaFields, INDEX_PART } from "../../contract/surfaces/deploy.ts";
import { recordId } from "../access/credentials.ts";
import type { HubContext } from "../context.ts";
import { conflict, HubError, notFound } from "../http/errors.ts";
import { parseOrRefuse } from "../http/validation.ts";
import { sealInTransaction } from "../keys/keyring.ts";
import { dekContext } from "../keys/sealing.ts";
import { type Artifact, findArtifact } from "../records/artifacts.ts";
import {
  type Delta,
  findDeltaById,
  findIndexById,
  insertDelta,
  insertIndex,
  type StoredIndex,
} from "../records/deltas.ts";
import { inTransaction } from "../records/transaction.ts";
import { publish, type Published, type Told } from "./publication.ts";
import { receiveUpload } from "./receive.ts";

const decode = (base64: string) => Buffer.from(base64, "base64");
const canonical = (base64: string) => decode(base64).toString("base64");

async function publishedArtifact(hub: HubContext, projectId: string, version: string): Promise<Artifact> {
  const artifact = await findArtifact(hub.database.statements, projectId, version);
  if (artifact === undefined) throw notFound("The project has no such version.");
  return artifact;
}

/**
 * Receives a delta that leads to a published version, verifies its signature and makes it visible. Only the signer of
 * the version itself may add one: hosts that pin the signer would refuse any other.
 *
 * @throws HubError 400 for a signature that does not verify, 403 for another signer, 404 for an unknown version, 409
 *   when the version has another delta from this base, or as many as it may have
 */
export async function publishDelta(
  hub: HubContext,
  { projectId, version }: { projectId: string; version: string },
  request: FastifyRequest,
  told: Told<Delta>,
): Promise<Published<Delta>> {
  const artifact = await publishedArtifact(hub, projectId, version);
  await using upload = await receiveUpload(request, {
    blobs: hub.blobs,
    part: ARTIFACT_PART.name,
    maxBytes: Math.min(hub.maxArtifactBytes, Number(artifact.size_bytes)),
  });
  const schema = deltaFields.extend({ [ARTIFACT_PART.name]: z.object({}, "must be a file part") });
  const fields = parseOrRefuse(schema, { ...upload.fields, [ARTIFACT_PART.name]: upload.file });
  const { blob, sha256 } = upload.file!;
  if (canonical(fields.signer_public_key) !== artifact.signer_public_key)
    throw new HubError(403, "forbidden", "The delta was signed by another key than the version.");
  const base = await findArtifact(hub.database.statements, projectId, fields.base_version);
  if (base?.content_sha256 !== fields.base_content_sha256)
    throw notFound("The project has no such base version, or one with another tree.");
  const verifier = new Ed25519Verifier(decode(fields.signer_public_key), decode(fields.signature));
  for await (const chunk of blob.readBack()) verifier.update(chunk);
  if (!verifier.verify())
    throw new HubError(400, "signature_rejected", "The signature does not verify over the bytes received.");

  const id = recordId("dlt", hub.clock());
  const now = hub.now();
  const db = hub.database.kysely;
  const facts = {
    id,
    artifact_id: artifact.id,
    project_id: projectId,
    base_version: fields.base_version,
    base_content_sha256: fields.base_content_sha256,
    artifact_sha256: sha256,
    size_bytes: blob.size,
    signature: canonical(fields.signature),
    signer_public_key: canonical(fields.signer_public_key),
    created_at: now,
  };
  return await publish<Delta>(hub, {
    kind: "delta",
    id,
    blob,
    find: () => findDeltaById(db, id),
    insert: (lost) =>
      sealInTransaction(
        { db, keyring: hub.keyring, now },
        decode(fields.dek),
        dekContext(projectId, id),
        async (transaction, { kekId, sealed }) => {
          const delta = { ...facts, kek_id: kekId, sealed_dek: sealed };
          const record = await insertDelta(transaction, delta, lost);
          if (record === undefined) throw conflict("The version has as many deltas as it may have.");
          if (record.id === id) await told(transaction, record);
          return record;
        },
      ),
    // Whichever delta leads from this base to this version does what another one would.
    isSameContent: () => true,
    refusal: () => undefined,
  });
}

/** Largest index: 500,000 files, sealed. Bytes. */
const MAX_INDEX_BYTES = 256 * 1024 * 1024;

/**
 * Receives the sealed index of a published version. The hub cannot read it.
 *
 * @throws HubError 404 for an unknown version
 */
export async function publishIndex(
  hub: HubContext,
  { projectId, version }: { projectId: string; version: string },
  request: FastifyRequest,
  told: Told<StoredIndex>,
): Promise<Published<StoredIndex>> {
  const artifact = await publishedArtifact(hub, projectId, version);
  await using upload = await receiveUpload(request, {
    blobs: hub.blobs,
    part: INDEX_PART.name,
    maxBytes: Math.min(hub.maxArtifactBytes, MAX_INDEX_BYTES),
  });
  parseOrRefuse(z.object({ [INDEX_PART.name]: z.object({}, "must be a file part") }), {
    [INDEX_PART.name]: upload.file,
  });
  const { blob, sha256 } = upload.file!;
  const id = recordId("idx", hub.clock());
  const db = hub.database.kysely;
  const index = { id, artifact_id: artifact.id, sha256, size_bytes: blob.size, created_at: hub.now() };
  return await publish<StoredIndex>(hub, {
    kind: "index",
    id,
    blob,
    find: () => findIndexById(db, id),
    insert: (lost) =>
      inTransaction(db, async (transaction) => {
        const record = await insertIndex(transaction, index, lost);
        if (record.id === id) await told(transaction, record);
        return record;
      }),
    // An index tells of the version's tree, and that is the same whoever made it.
    isSameContent: () => true,
    refusal: () => undefined,
  });
}
