import multipart from "@fastify/multipart";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { Ed25519Verifier } from "../../artifact/signatures/ed25519.ts";
import {
  ARTIFACT_PART,
  type PublishFields,
  publishFields,
  type PublishResult,
  publishResult,
} from "../../contract/surfaces/deploy.ts";
import { errorBody } from "../../contract/surfaces/keys.ts";
import { recordId } from "../access/credentials.ts";
import { controls, isAdministrator, type Principal, requireScope } from "../access/principal.ts";
import type { IncomingBlob } from "../blobs/port.ts";
import type { HubContext } from "../context.ts";
import { errors, type MountOptions, security } from "../http/documentation.ts";
import { forbidden, HubError, notFound } from "../http/errors.ts";
import { faultsAnswer, parseOrRefuse, unvalidated } from "../http/validation.ts";
import { sealInTransaction } from "../keys/keyring.ts";
import { dekContext } from "../keys/sealing.ts";
import { receiveUpload, type Upload } from "../publications/receive.ts";
import { type Artifact, insertArtifact } from "../records/artifacts.ts";
import { findProject } from "../records/projects.ts";

const decode = (base64: string) => Buffer.from(base64, "base64");
/** The one form of a base64 text in which it is stored, compared and looked up. */
const canonical = (base64: string) => decode(base64).toString("base64");

const publishForm = publishFields.extend({ [ARTIFACT_PART.name]: z.file() });

const versionExists = errorBody
  .extend({ content_sha256: z.string() })
  .describe("The version exists with other bytes; content_sha256 is that of the stored tree.");

const resultOf = (artifact: Artifact): PublishResult => ({
  artifact_id: artifact.id,
  project_id: artifact.project_id,
  version: artifact.version,
  content_sha256: artifact.content_sha256,
  size_bytes: artifact.size_bytes,
  created_at: artifact.created_at,
  artifact_sha256: artifact.artifact_sha256,
});

/** @throws 403 for another's project, and for one that does not exist unless an administrator asks; 404 then */
async function requirePublishable(hub: HubContext, principal: Principal, projectId: string): Promise<void> {
  requireScope(principal, "publish");
  const project = await findProject(hub.database.kysely, projectId);
  if (project?.kind === "project" && controls(principal, project)) return;
  if (isAdministrator(principal)) throw notFound("There is no such project.");
  throw forbidden("The key may not publish to this project.");
}

/** Fields that came before the file are checked before the file is read; with key and signature, it is verified as it passes. */
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
function completeForm(upload: Upload): { fields: PublishFields; file: NonNullable<Upload["file"]> } {
  const form = { ...upload.fields, [ARTIFACT_PART.name]: upload.file };
  const schema = publishFields.extend({ [ARTIFACT_PART.name]: z.object({}, "must be a file part") });
  const fields = parseOrRefuse(schema, form);
  return { fields, file: upload.file! };
}

/**
 * Stores a verified artifact: the bytes first, durably, then the record that makes them visible. Of two publishers of one version,
 * one wins; the other's bytes are removed.
 */
async function store(
  hub: HubContext,
  projectId: string,
  fields: PublishFields,
  { blob, sha256 }: NonNullable<Upload["file"]>,
): Promise<{ artifact: Artifact; created: boolean }> {
  const id = recordId("art", hub.clock());
  const { size } = blob;
  await blob.commit(id);
  const now = hub.now();
  let existing: Artifact | undefined;
  let artifact: Artifact | undefined;
  try {
    existing = await sealInTransaction(
      { db: hub.database.kysely, keyring: hub.keyring, now },
      decode(fields.dek),
      dekContext(projectId, id),
      (transaction, { kekId, sealed }) => {
        artifact = {
          id,
          project_id: projectId,
          version: fields.version,
          project_name: fields.project_name,
          content_sha256: fields.content_sha256,
          artifact_sha256: sha256,
          size_bytes: size,
          signature: canonical(fields.signature),
          signer_public_key: canonical(fields.signer_public_key),
          kek_id: kekId,
          sealed_dek: sealed,
          created_at: now,
        };
        return insertArtifact(transaction, artifact);
      },
    );
  } catch (error) {
    await hub.blobs.remove(id);
    throw error;
  }
  if (existing === undefined) return { artifact: artifact!, created: true };
  await hub.blobs.remove(id);
  if (existing.artifact_sha256 === sha256) return { artifact: existing, created: false };
  throw new HubError(409, "version_exists", `Version ${fields.version} is published already, with other bytes.`, {
    fields: { content_sha256: existing.content_sha256 },
  });
}

/** Publishing of encrypted project artifacts (surface B), in a scope of its own: only here are forms read. */
export const publish: FastifyPluginAsyncZod<MountOptions> = async (app, { hub, authentication }) => {
  app.removeAllContentTypeParsers();
  await app.register(multipart);

  app.post("/v1/projects/:project_id/publish", {
    validatorCompiler: unvalidated as never,
    schema: {
      tags: ["deploy hub"],
      summary: "Publish an encrypted project artifact",
      security: security.key,
      consumes: ["multipart/form-data"],
      params: z.object({ project_id: z.string() }),
      body: publishForm,
      response: {
        200: publishResult.describe("The very same bytes are published already."),
        201: publishResult,
        ...errors(400, 401, 403, 404, 413, 415, 422),
        409: versionExists,
      },
    },
    async handler(request, reply) {
      const principal = await authentication.key(request);
      const { project_id: projectId } = request.params;
      await requirePublishable(hub, principal, projectId);

      let verifier: Ed25519Verifier | undefined;
      const upload = await receiveUpload(request, {
        blobs: hub.blobs,
        part: ARTIFACT_PART.name,
        maxSize: hub.maxArtifactSize,
        onFile: (fields) => {
          verifier = verifierFor(fields);
          return verifier && ((chunk) => verifier?.update(chunk));
        },
      });
      try {
        const { fields, file } = completeForm(upload);
        if (!(await verifies(file.blob, fields, verifier))) {
          throw new HubError(400, "signature_rejected", "The signature does not verify over the bytes received.");
        }
        const { artifact, created } = await store(hub, projectId, fields, file);
        return reply.code(created ? 201 : 200).send(resultOf(artifact));
      } finally {
        await upload.file?.blob.discard();
      }
    },
  });
};
