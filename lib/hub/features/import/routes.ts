import { importTargetVersion } from "../../../contract/import/routes.ts";
import type { MarketplaceKind } from "../../../contract/surfaces/paths.ts";
import { witnessOf } from "../../access/audit.ts";
import type { MountOptions } from "../../access/authentication.ts";
import { type Served, serveRaw } from "../../access/serve.ts";
import { targetAccess } from "../../access/target-access.ts";
import { untilLeft } from "../../http/connections.ts";
import { subjectOf } from "../../records/subjects.ts";
import { versionRecord } from "../../records/target-detail.ts";
import type { Core } from "../feature.ts";
import { importVersion } from "./import-version.ts";
import type { SourceHosts } from "./source-hosts.ts";

/** The route that publishes a version from its source host, for one kind. */
export function importRoute(options: MountOptions<Core>, kind: MarketplaceKind, sourceHosts: SourceHosts): Served {
  const { hub } = options;
  const access = targetAccess(kind, options);
  return serveRaw(importTargetVersion[kind], access.controlled, async (request, reply, target) => {
    // The source host has its own time-outs; on this connection nothing moves until it is done.
    request.raw.socket.setTimeout(0);
    hub.arrivals.admit(request, reply, target.principal.owner);
    const witness = witnessOf(hub, request, target.principal);
    const { record, created } = await importVersion(
      { ...hub, sourceHosts },
      { ...target, kind },
      request.body,
      (transaction, { version, state, sha256, repo }) =>
        witness(transaction, {
          action: state === "staged" ? "version.stage" : "version.import",
          subject: subjectOf({ kind, slug: request.params.slug }),
          facts: { version, sha256, repo },
        }),
      untilLeft(reply),
    );
    return reply.code(created ? 201 : 200).send(versionRecord(record));
  });
}
