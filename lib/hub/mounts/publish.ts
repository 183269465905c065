import type { FastifyReply } from "fastify";
import * as routes from "../../contract/publishing/routes.ts";
import type { PublishResult } from "../../contract/surfaces/deploy.ts";
import { HEADERS } from "../../contract/surfaces/headers.ts";
import type { AuditWriter } from "../access/audit.ts";
import type { MountOptions } from "../access/authentication.ts";
import type { DownloadUrls } from "../access/download-urls.ts";
import { projectAccess, type ProjectAccessParts, type ProjectRequest } from "../access/project-access.ts";
import { serve, type Served, serveRaw } from "../access/serve.ts";
import { admitUpload } from "../access/uploads.ts";
import { notFound } from "../base/errors.ts";
import type { Principal } from "../base/principal.ts";
import type { Arrivals } from "../http/arrivals.ts";
import { blobBytes, sendBytes } from "../http/ranges.ts";
import { publishedAs } from "../publications/approval.ts";
import { publishDelta, publishIndex } from "../publications/delta.ts";
import type { KeptUploads } from "../publications/kept-uploads.ts";
import { publishArtifact } from "../publications/project.ts";
import type { SealedParts } from "../publications/signed-bytes.ts";
import { findIndex, indexedVersions } from "../records/deltas.ts";
import { factsOf, type Version } from "../records/versions.ts";
import { bringing } from "./bringing.ts";

function resultOf(row: Version): PublishResult {
  const { version, size_bytes, created_at, sha256, state } = factsOf(row);
  return {
    artifact_id: row.id,
    project_id: row.project_id,
    ...{ version, content_sha256: row.content_sha256!, size_bytes, created_at, artifact_sha256: sha256 },
    ...(state !== undefined && { state }),
  };
}

/** Most versions offered to a publisher as bases. */
const MAX_BASES = 20;

/**
 * Routes that publish to a project (surface B): artifacts, deltas between versions, and the sealed indexes from which
 * publishers make deltas (docs/contract/delta.md).
 */
export function publish(
  options: MountOptions<
    ProjectAccessParts & SealedParts & { arrivals: Arrivals; uploads: KeptUploads; downloadUrls: DownloadUrls }
  >,
): readonly Served[] {
  const { hub } = options;
  const { publishable } = projectAccess(options);

  /** Lets an upload to a project begin. @returns the witness of its request */
  const admitted = (request: ProjectRequest, reply: FastifyReply, principal: Principal): AuditWriter =>
    admitUpload(hub, request, reply, { principal, projectId: request.params.project_id });

  return [
    serveRaw(routes.publishArtifact, publishable, async (request, reply, principal) => {
      const { project_id: projectId } = request.params;
      const writeAudit = admitted(request, reply, principal);
      const { record, created } = await publishArtifact(
        hub,
        { projectId, principal, bringing: bringing(hub, reply, { principal, projectId }) },
        request,
        (transaction, { version, state, sha256, signer_public_key: signer }) =>
          writeAudit(transaction, {
            action: publishedAs(state),
            subject: projectId,
            facts: { version, sha256, signer },
          }),
      );
      return reply.code(created ? 201 : 200).send(resultOf(record));
    }),

    serve(routes.showUpload, publishable, async (request, { owner }) => {
      const { project_id: targetId, upload } = request.params;
      return { upload_id: upload, upload_offset: await hub.uploads.offset({ owner, targetId }, upload) };
    }),

    serveRaw(routes.publishDelta, publishable, async (request, reply, principal) => {
      const { project_id: projectId, version } = request.params;
      const writeAudit = admitted(request, reply, principal);
      const { record, created } = await publishDelta(
        hub,
        { projectId, version, principal, bringing: bringing(hub, reply, { principal, projectId }) },
        request,
        (transaction, { base_version, sha256 }) =>
          writeAudit(transaction, {
            action: "delta.publish",
            subject: projectId,
            facts: { version, base_version, sha256 },
          }),
      );
      const { id, base_version, size_bytes } = record;
      return reply
        .code(created ? 201 : 200)
        .send({ delta_id: id, version, base_version, size_bytes: Number(size_bytes) });
    }),

    serveRaw(routes.publishIndex, publishable, async (request, reply, principal) => {
      const { project_id: projectId, version } = request.params;
      const writeAudit = admitted(request, reply, principal);
      const { record, created } = await publishIndex(
        hub,
        { projectId, version, principal },
        request,
        (transaction, { sha256 }) =>
          writeAudit(transaction, { action: "index.publish", subject: projectId, facts: { version, sha256 } }),
      );
      return reply.code(created ? 201 : 200).send({ version, size_bytes: Number(record.size_bytes) });
    }),

    serve(routes.listIndexes, publishable, async (request) => ({
      indexes: await indexedVersions(hub.database.kysely, request.params.project_id, MAX_BASES),
    })),

    serveRaw(routes.readIndex, publishable, async (request, reply, principal) => {
      const { project_id: projectId, version } = request.params;
      const index = await findIndex(hub.database.kysely, projectId, version, principal);
      if (index === undefined) throw notFound("The version has no index.");
      const { id, size_bytes, sha256 } = index;
      return sendBytes(request, reply, blobBytes(hub.blobs, { id, size: Number(size_bytes), sha256 }), {
        "content-type": "application/octet-stream",
        [HEADERS.download.toLowerCase()]: hub.downloadUrls.create(id, principal.keyId, hub.clock()),
      });
    }),
  ];
}
