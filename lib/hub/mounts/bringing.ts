import type { FastifyReply } from "fastify";
import { requireStill } from "../access/still-allowed.ts";
import { HubError } from "../base/errors.ts";
import type { Principal } from "../base/principal.ts";
import { giveUp } from "../http/connections.ts";
import type { Bringing, KeptUploads } from "../publications/kept-uploads.ts";
import { admitBytes } from "../records/hooks.ts";
import { inTransaction, type Records } from "../records/port.ts";

/** Key of an upload, and the project, plugin or service it goes to. */
interface Upload {
  principal: Principal;
  projectId: string;
}

/**
 * Returns the request of an upload as one whose bytes are kept when it is cut, as long as its key may still bring them,
 * and within the quotas of target and owner.
 */
export const bringing = (
  hub: Records & { uploads: KeptUploads },
  reply: FastifyReply,
  { principal, projectId }: Upload,
): Bringing => ({
  uploads: hub.uploads,
  owner: principal.owner,
  targetId: projectId,
  mayKeep: (bytes, ownersBytes) =>
    inTransaction(hub.database.kysely, async (transaction) => {
      const { targets } = await requireStill(transaction, { principal, projectIds: [projectId] }, hub.now());
      await admitBytes(transaction, { project: targets[0], bytes, ownersBytes, versions: 0 });
    }),
  giveWay: () => giveUp(reply, new HubError(409, "upload_busy", "Another request goes on with this upload.")),
});
