import { importRequest, versionRecord as versionSchema } from "../../../contract/surfaces/marketplace.ts";
import type { MarketplaceKind } from "../../../contract/surfaces/paths.ts";
import { witnessOf } from "../../access/audit.ts";
import { targetAccess, targetParams } from "../../access/target-access.ts";
import { untilLeft } from "../../http/connections.ts";
import { errors, security } from "../../http/documentation.ts";
import { archiveExists } from "../../mounts/marketplace-publish.ts";
import { loggedTarget } from "../../records/reports.ts";
import { versionRecord } from "../../records/target-detail.ts";
import type { Mount } from "../feature.ts";
import { importVersion } from "./import-version.ts";
import type { SourceHosts } from "./source-hosts.ts";

/** The route that publishes a version from its source host. */
export const importRoute =
  (sourceHosts: SourceHosts): Mount<{ kind: MarketplaceKind }> =>
  async (app, options) => {
    const { hub, kind } = options;
    const access = targetAccess(kind, options);

    app.post("/:slug/import", {
      schema: {
        tags: [kind === "plugin" ? "plugins" : "services"],
        summary: `Publish a version of a ${kind} from its source host, signed with the registered secret`,
        security: security.key,
        params: targetParams,
        body: importRequest,
        response: {
          200: versionSchema.describe("The very same archive is published already."),
          201: versionSchema,
          ...errors(400, 401, 403, 404, 413, 415, 422, 502),
          409: archiveExists,
        },
      },
      async handler(request, reply) {
        const target = await access.controlled(request, request.params.slug, "publish");
        // The source host has its own time-outs; on this connection nothing moves until it is done.
        request.raw.socket.setTimeout(0);
        hub.arrivals.admit(request, reply, target.principal.owner);
        const witness = witnessOf(hub, request, target.principal);
        const { record, created } = await importVersion(
          { ...hub, sourceHosts },
          { ...target, kind, publishedBy: target.principal.keyId },
          request.body,
          (transaction, { version, sha256, repo }) =>
            witness(transaction, {
              action: "version.import",
              subject: loggedTarget(kind, request.params.slug),
              facts: { version, sha256, repo },
            }),
          untilLeft(reply),
        );
        await hub.rollouts.versionsChanged(target.id);
        return reply.code(created ? 201 : 200).send(versionRecord(record));
      },
    });
  };
