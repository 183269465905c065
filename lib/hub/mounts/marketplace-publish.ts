import * as routes from "../../contract/marketplace/routes.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import type { MountOptions } from "../access/authentication.ts";
import { serve, type Served, serveRaw } from "../access/serve.ts";
import type { TargetAccessParts } from "../access/target-access.ts";
import { targetAccess } from "../access/target-access.ts";
import { admitUpload } from "../access/uploads.ts";
import type { Arrivals } from "../http/arrivals.ts";
import { publishedAs } from "../publications/approval.ts";
import type { ArchiveParts } from "../publications/archive.ts";
import { uploadArchive } from "../publications/archive.ts";
import type { KeptUploads } from "../publications/kept-uploads.ts";
import { subjectOf } from "../records/subjects.ts";
import { versionRecord } from "../records/target-detail.ts";
import { bringing } from "./bringing.ts";

/** Routes that publish plugins and services. The developer has signed the archive; the hub never sees the secret. */
export function marketplacePublish(
  options: MountOptions<TargetAccessParts & ArchiveParts & { arrivals: Arrivals; uploads: KeptUploads }>,
  kind: MarketplaceKind,
): readonly Served[] {
  const { hub } = options;
  const access = targetAccess(kind, options);

  return [
    serveRaw(routes.publishTargetVersion[kind], access.controlled, async (request, reply, { id, principal }) => {
      const writeAudit = admitUpload(hub, request, reply, { principal, projectId: id });
      const subject = subjectOf({ kind, slug: request.params.slug });
      const { record, created } = await uploadArchive(
        hub,
        { id, kind, principal, bringing: bringing(hub, reply, { principal, projectId: id }) },
        request,
        (transaction, { version, state, sha256, signer_public_key: signer }) =>
          writeAudit(transaction, {
            action: publishedAs(state),
            subject,
            facts: { version, sha256, ...(signer !== null && { signer }) },
          }),
      );
      return reply.code(created ? 201 : 200).send(versionRecord(record));
    }),

    serve(routes.showTargetUpload[kind], access.controlled, async (request, { id: targetId, principal: { owner } }) => {
      const { upload } = request.params;
      return { upload_id: upload, upload_offset: await hub.uploads.offset({ owner, targetId }, upload) };
    }),
  ];
}
