import * as routes from "../../contract/marketplace/routes.ts";
import type { MarketplaceKind } from "../../contract/surfaces/paths.ts";
import type { MountOptions } from "../access/authentication.ts";
import { type Served, serveRaw } from "../access/serve.ts";
import type { TargetAccessParts } from "../access/target-access.ts";
import { targetAccess } from "../access/target-access.ts";
import { admitUpload } from "../access/uploads.ts";
import type { Arrivals } from "../http/arrivals.ts";
import { publishedAs } from "../publications/approval.ts";
import type { ArchiveParts } from "../publications/archive.ts";
import { uploadArchive } from "../publications/archive.ts";
import { subjectOf } from "../records/subjects.ts";
import { versionRecord } from "../records/target-detail.ts";

/** Routes that publish plugins and services. The developer has signed the archive; the hub never sees the secret. */
export function marketplacePublish(
  options: MountOptions<TargetAccessParts & ArchiveParts & { arrivals: Arrivals }>,
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
        { id, kind, principal },
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
  ];
}
