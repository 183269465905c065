import multipart from "@fastify/multipart";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import * as z from "zod";
import { errorBody } from "../../contract/surfaces/keys.ts";
import { ARCHIVE_PART, versionFields, versionRecord as versionSchema } from "../../contract/surfaces/marketplace.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import { witnessOf } from "../access/audit.ts";
import type { MountOptions } from "../access/authentication.ts";
import type { TargetAccessParts } from "../access/target-access.ts";
import { targetAccess, targetParams } from "../access/target-access.ts";
import type { Arrivals } from "../http/arrivals.ts";
import { errors, security } from "../http/documentation.ts";
import { unvalidated } from "../http/validation.ts";
import type { ArchiveParts } from "../publications/archive.ts";
import { uploadArchive } from "../publications/archive.ts";
import { loggedTarget } from "../records/reports.ts";
import { versionRecord } from "../records/target-detail.ts";

export const archiveExists = errorBody
  .extend({ content_sha256: z.string() })
  .describe("The version exists with another archive; content_sha256 is the stored archive's.");

/** Publishing of plugins and services. The developer signed the archive; the hub never sees the secret. */
export const marketplacePublish: FastifyPluginAsyncZod<
  MountOptions<TargetAccessParts & ArchiveParts & { arrivals: Arrivals }> & { kind: MarketplaceKind }
> = async (app, options) => {
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
      body: versionFields.extend({ [ARCHIVE_PART.name]: z.file() }),
      response: {
        200: versionSchema.describe("The very same archive is published already."),
        201: versionSchema,
        ...errors(400, 401, 403, 404, 413, 415, 422),
        409: archiveExists,
      },
    },
    async handler(request, reply) {
      const target = await access.controlled(request, request.params.slug, "publish");
      hub.arrivals.admit(request, reply, target.principal.owner);
      const witness = witnessOf(hub, request, target.principal);
      const subject = loggedTarget(kind, request.params.slug);
      const { record, created } = await uploadArchive(
        hub,
        { id: target.id, kind, publishedBy: target.principal.keyId },
        request,
        (transaction, { version, sha256 }) =>
          witness(transaction, { action: "version.publish", subject, facts: { version, sha256 } }),
      );
      await hub.rollouts.versionsChanged(target.id);
      return reply.code(created ? 201 : 200).send(versionRecord(record));
    },
  });
};
