import multipart from "@fastify/multipart";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import * as z from "zod";
import { bytes, errorBody } from "../../contract/route.ts";
import {
  ARTIFACT_PART,
  deltaFields,
  deltaResult,
  INDEX_PART,
  indexesAnswer,
  indexResult,
  publishFields,
  type PublishResult,
  publishResult,
} from "../../contract/surfaces/deploy.ts";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import { type Witness, witnessOf } from "../access/audit.ts";
import type { MountOptions } from "../access/authentication.ts";
import type { DownloadUrls } from "../access/download-urls.ts";
import { projectAccess, type ProjectAccessParts } from "../access/project-access.ts";
import { notFound } from "../ground/errors.ts";
import type { Arrivals } from "../http/arrivals.ts";
import { errors, security } from "../http/documentation.ts";
import { blobBytes, sendBytes } from "../http/ranges.ts";
import { unvalidated } from "../http/validation.ts";
import { publishDelta, publishIndex } from "../publications/delta.ts";
import { publishArtifact } from "../publications/project.ts";
import type { SealedParts } from "../publications/signed-bytes.ts";
import { findIndex, indexedVersions } from "../records/deltas.ts";
import { factsOf, type Version } from "../records/versions.ts";

const versionExists = errorBody
  .extend({ content_sha256: z.string() })
  .describe("The version exists with other bytes; content_sha256 is that of the stored tree.");

function resultOf(row: Version): PublishResult {
  const { version, size_bytes, created_at, sha256, state } = factsOf(row);
  return {
    artifact_id: row.id,
    project_id: row.project_id,
    ...{ version, content_sha256: row.content_sha256!, size_bytes, created_at, artifact_sha256: sha256 },
    ...(state !== undefined && { state }),
  };
}

const projectParams = z.object({ project_id: z.string() });
const versionParams = projectParams.extend({ version: z.string() });
/** Versions that a publisher is offered as bases. */
const MAX_BASES = 20;

/**
 * Publishing to a project (surface B): artifacts, deltas between versions, and the sealed indexes that publishers make
 * deltas from (docs/contract/delta.md). In a scope of its own: only here are forms read.
 */
export const publish: FastifyPluginAsyncZod<
  MountOptions<ProjectAccessParts & SealedParts & { arrivals: Arrivals; downloadUrls: DownloadUrls }>
> = async (app, options) => {
  const { hub } = options;
  const access = projectAccess(options);
  app.removeAllContentTypeParsers();
  await app.register(multipart);
  const form = { tags: ["deploy hub"], security: security.key, consumes: ["multipart/form-data"] };
  const validatorCompiler = unvalidated as never;

  /** Lets an upload to a project begin. @returns the witness of its request, and the id of its key */
  async function admitted(
    request: FastifyRequest,
    reply: FastifyReply,
    projectId: string,
  ): Promise<{ witness: Witness; publishedBy: string }> {
    const principal = await access.publishable(request, projectId);
    hub.arrivals.admit(request, reply, principal.owner);
    return { witness: witnessOf(hub, request, principal), publishedBy: principal.keyId };
  }

  app.post("/v1/projects/:project_id/publish", {
    validatorCompiler,
    schema: {
      ...form,
      summary: "Publish an encrypted project artifact",
      params: projectParams,
      body: publishFields.extend({ [ARTIFACT_PART.name]: z.file() }),
      response: {
        200: publishResult.describe("The very same bytes are published already."),
        201: publishResult,
        ...errors(400, 401, 403, 404, 413, 415, 422),
        409: versionExists,
      },
    },
    async handler(request, reply) {
      const { project_id: projectId } = request.params;
      const { witness, publishedBy } = await admitted(request, reply, projectId);
      const { record, created } = await publishArtifact(
        hub,
        { projectId, publishedBy },
        request,
        (transaction, { version, sha256, signer_public_key: signer }) =>
          witness(transaction, { action: "version.publish", subject: projectId, facts: { version, sha256, signer } }),
      );
      return reply.code(created ? 201 : 200).send(resultOf(record));
    },
  });

  app.post("/v1/projects/:project_id/artifacts/:version/deltas", {
    validatorCompiler,
    schema: {
      ...form,
      summary: "Publish a delta that leads to a published version",
      params: versionParams,
      body: deltaFields.extend({ [ARTIFACT_PART.name]: z.file() }),
      response: {
        200: deltaResult.describe("The version has a delta from this base already."),
        201: deltaResult,
        ...errors(400, 401, 403, 404, 409, 413, 415, 422),
      },
    },
    async handler(request, reply) {
      const { project_id: projectId, version } = request.params;
      const { witness } = await admitted(request, reply, projectId);
      const { record, created } = await publishDelta(
        hub,
        { projectId, version },
        request,
        (transaction, { base_version, sha256 }) =>
          witness(transaction, {
            action: "delta.publish",
            subject: projectId,
            facts: { version, base_version, sha256 },
          }),
      );
      const { id, base_version, size_bytes } = record;
      return reply
        .code(created ? 201 : 200)
        .send({ delta_id: id, version, base_version, size_bytes: Number(size_bytes) });
    },
  });

  app.post("/v1/projects/:project_id/artifacts/:version/index", {
    validatorCompiler,
    schema: {
      ...form,
      summary: "Store the sealed index of a published version",
      params: versionParams,
      body: z.object({ [INDEX_PART.name]: z.file() }),
      response: {
        200: indexResult.describe("The version has an index already."),
        201: indexResult,
        ...errors(400, 401, 403, 404, 409, 413, 415, 422),
      },
    },
    async handler(request, reply) {
      const { project_id: projectId, version } = request.params;
      const { witness } = await admitted(request, reply, projectId);
      const { record, created } = await publishIndex(hub, { projectId, version }, request, (transaction, { sha256 }) =>
        witness(transaction, { action: "index.publish", subject: projectId, facts: { version, sha256 } }),
      );
      return reply.code(created ? 201 : 200).send({ version, size_bytes: Number(record.size_bytes) });
    },
  });

  app.get("/v1/projects/:project_id/indexes", {
    schema: {
      tags: form.tags,
      summary: "Versions whose index is stored: those first that most hosts run, then the newest",
      security: security.key,
      params: projectParams,
      response: { 200: indexesAnswer, ...errors(401, 403, 404) },
    },
    async handler(request) {
      const { project_id: projectId } = request.params;
      await access.publishable(request, projectId);
      return { indexes: await indexedVersions(hub.database.kysely, projectId, MAX_BASES) };
    },
  });

  app.route({
    method: ["GET", "HEAD"],
    url: "/v1/projects/:project_id/artifacts/:version/index",
    schema: {
      tags: form.tags,
      summary: "The sealed index of a version",
      description: `${HEADERS.download} is where the same bytes are given without a key, for a while.`,
      security: security.key,
      params: versionParams,
      response: { 200: bytes("The whole index."), 206: bytes("The range asked for."), ...errors(401, 403, 404, 416) },
    },
    async handler(request, reply) {
      const { project_id: projectId, version } = request.params;
      const { keyId } = await access.publishable(request, projectId);
      const index = await findIndex(hub.database.kysely, projectId, version);
      if (index === undefined) throw notFound("The version has no index.");
      const { id, size_bytes, sha256 } = index;
      return sendBytes(request, reply, blobBytes(hub.blobs, { id, size: Number(size_bytes), sha256 }), {
        "content-type": "application/octet-stream",
        [HEADERS.download.toLowerCase()]: hub.downloadUrls.create(id, keyId, hub.clock()),
      });
    },
  });
};
