import multipart from "@fastify/multipart";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import * as z from "zod";
import { ARTIFACT_PART, publishFields, type PublishResult, publishResult } from "../../contract/surfaces/deploy.ts";
import { errorBody } from "../../contract/surfaces/keys.ts";
import { witnessOf } from "../access/audit.ts";
import type { MountOptions } from "../access/authentication.ts";
import type { ProjectAccessParts } from "../access/project-access.ts";
import { projectAccess } from "../access/project-access.ts";
import type { Arrivals } from "../http/arrivals.ts";
import { errors, security } from "../http/documentation.ts";
import { unvalidated } from "../http/validation.ts";
import { publishArtifact } from "../publications/project.ts";
import type { SealedParts } from "../publications/signed-bytes.ts";
import type { Artifact } from "../records/artifacts.ts";

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

/** Publishing of encrypted project artifacts (surface B), in a scope of its own: only here are forms read. */
export const publish: FastifyPluginAsyncZod<
  MountOptions<ProjectAccessParts & SealedParts & { arrivals: Arrivals }>
> = async (app, options) => {
  const { hub } = options;
  const access = projectAccess(options);
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
      const { project_id: projectId } = request.params;
      const principal = await access.publishable(request, projectId);
      hub.arrivals.admit(request, reply, principal.owner);
      const witness = witnessOf(hub, request, principal);
      const { record, created } = await publishArtifact(
        hub,
        projectId,
        request,
        (transaction, { version, artifact_sha256: sha256, signer_public_key: signer }) =>
          witness(transaction, {
            action: "version.publish",
            subject: projectId,
            facts: { version, sha256, signer },
          }),
      );
      return reply.code(created ? 201 : 200).send(resultOf(record));
    },
  });
};
