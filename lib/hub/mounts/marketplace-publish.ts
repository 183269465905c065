import multipart from "@fastify/multipart";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { errorBody } from "../../contract/surfaces/keys.ts";
import { ARCHIVE_PART, releaseFields, releaseRecord as releaseSchema } from "../../contract/surfaces/marketplace.ts";
import type { TargetKind } from "../../contract/surfaces/paths.ts";
import { targetAccess, targetParams } from "../access/target-access.ts";
import { errors, type MountOptions, security } from "../http/documentation.ts";
import { faultsAnswer, parseOrRefuse, unvalidated } from "../http/validation.ts";
import { publishRelease } from "../publications/archive.ts";
import { receiveUpload } from "../publications/receive.ts";
import { releaseRecord } from "../records/targets.ts";

export const archiveExists = errorBody
  .extend({ content_sha256: z.string() })
  .describe("The version exists with another archive; content_sha256 is the stored archive's.");

/** Publishing of plugins and services: the developer signed the archive, the hub stores it as it is and never sees the secret. */
export const marketplacePublish: FastifyPluginAsyncZod<MountOptions & { kind: TargetKind }> = async (app, options) => {
  const { hub, kind } = options;
  const access = targetAccess(kind, options);
  app.removeAllContentTypeParsers();
  await app.register(multipart);

  app.post("/:slug/versions", {
    validatorCompiler: unvalidated as never,
    schema: {
      tags: [kind === "plugin" ? "plugins" : "services"],
      summary: `Publish a version of a ${kind}`,
      security: security.key,
      consumes: ["multipart/form-data"],
      params: targetParams,
      body: releaseFields.extend({ [ARCHIVE_PART.name]: z.file() }),
      response: {
        200: releaseSchema.describe("The very same archive is published already."),
        201: releaseSchema,
        ...errors(400, 401, 403, 404, 413, 415, 422),
        409: archiveExists,
      },
    },
    async handler(request, reply) {
      const target = await access.controlled(request, request.params.slug, "publish");
      const upload = await receiveUpload(request, {
        blobs: hub.blobs,
        part: ARCHIVE_PART.name,
        maxSize: hub.maxArtifactSize,
        onFile(fields) {
          const parsed = releaseFields.partial().safeParse(fields, { reportInput: true });
          if (!parsed.success) throw faultsAnswer(parsed.error);
          return undefined;
        },
      });
      try {
        const form = { ...upload.fields, [ARCHIVE_PART.name]: upload.file };
        const schema = releaseFields.extend({ [ARCHIVE_PART.name]: z.object({}, "must be a file part") });
        const fields = parseOrRefuse(schema, form);
        const { release, created } = await publishRelease(hub, { targetId: target.id, fields, ...upload.file! });
        return reply.code(created ? 201 : 200).send(releaseRecord(release));
      } finally {
        await upload.file?.blob.discard();
      }
    },
  });
};
